"""The recipe of language models, which learn from a text."""

from __future__ import annotations

from typing import ClassVar

from structnet.recipes.language_model.paper import TABLES
from structnet.recipes.language_model.settings import Choice, LanguageModelRunSettings
from structnet.recipes.protocol import Recipe
from structnet.recipes.recipe import AskOfWords


class LanguageModelRecipe(Recipe):
    """Log-bilinear language models whose next word is a leaf."""

    name = "language-model"
    module = "structnet.recipes.language_model.work"
    refused = ("device",)  # always computed on the CPU
    examples: ClassVar = {
        "train": """\
  structnet train language-model --data pydoc --vector-size 50 --out runs/words
  structnet train language-model --data mine.txt --epochs 10
  structnet train language-model --data brown --data-dir data --tree huffman
  structnet train language-model --resume runs/words""",
        "reproduce": """\
  structnet reproduce language-model --table 2 --data brown --data-dir data --epochs 3
  structnet reproduce language-model --table 2 --data pydoc --only learned,random""",
    }
    Settings = LanguageModelRunSettings
    Ask = AskOfWords
    Choice = Choice
    tables = TABLES
