"""The recipe of routed language models, which learn from a text."""

from __future__ import annotations

from typing import ClassVar

from structnet.recipes.naru.paper import TABLES
from structnet.recipes.naru.paper import Choice as FigureChoice
from structnet.recipes.naru.settings import NaruRunSettings
from structnet.recipes.protocol import Recipe
from structnet.recipes.recipe import AskOfWords


class NaruRecipe(Recipe):
    """Routed networks that predict the next word."""

    name = "naru"
    module = "structnet.recipes.naru.work"
    examples: ClassVar = {
        "train": """\
  structnet train naru --data mytext.txt --out runs/mytext
  structnet train naru --data brown --data-dir data --train-size 1500 --longest 25 --epochs 30
  structnet train naru --data brown --data-dir data --network gru
  structnet train --resume runs/mytext""",
        "reproduce": """\
  structnet reproduce naru --figure 18 --data-dir data
  structnet reproduce naru --figure 17 --data pydoc --epochs 30""",
    }
    Settings = NaruRunSettings
    Ask = AskOfWords
    Choice = FigureChoice
    tables = TABLES
