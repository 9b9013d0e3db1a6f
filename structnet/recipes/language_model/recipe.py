"""The recipe of language models: a run from a text to the next words that a user asks for.

Nothing here imports torch before it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from structnet.datasets.catalogue import TEXTS
from structnet.recipes.language_model.paper import TABLES
from structnet.recipes.language_model.settings import NAMES, Choice, LanguageModelRunSettings
from structnet.recipes.protocol import Recipe
from structnet.recipes.recipe import Answer, AskOfWords, Outcome, Pictures, Place, Say

if TYPE_CHECKING:
    from structnet.label_tree import LogBilinearLM, NextWords
    from structnet.recipes.language_model.runs import TextData
    from structnet.recipes.run import Run


class LanguageModelRecipe(Recipe):
    """Log-bilinear language models whose next word is a leaf."""

    name = "language-model"
    examples: ClassVar = {
        "train": """\
  structnet train language-model --data pydoc --size 50 --arity 10 --max-depth 5 --out runs/words
  structnet train language-model --data mine.txt --epochs 10
  structnet train language-model --data brown --data-dir data --head huffman
  structnet train language-model --resume runs/words""",
        "reproduce": """\
  structnet reproduce language-model --table 2 --data brown --data-dir data --epochs 3
  structnet reproduce language-model --table 2 --data pydoc --only learned,random""",
    }
    data_sets = NAMES
    files = TEXTS
    Settings = LanguageModelRunSettings
    Ask = AskOfWords
    Choice = Choice
    tables = TABLES

    def load(self, settings: LanguageModelRunSettings, say: Say) -> TextData:
        """The text of a run, with a word on it; a tree that it does not fit into is refused."""
        from structnet.label_tree.shapes import check_depth
        from structnet.recipes.language_model.runs import load_data

        say(f"reading {settings.data} ...")
        data, told = load_data(settings), settings.training
        say(f"data: {data.in_words()}")
        if told.max_depth is not None:
            check_depth(len(data.words), told.arity, told.max_depth)
        return data

    def train(
        self, settings: LanguageModelRunSettings, data: TextData, run: Run, say: Say
    ) -> Outcome:
        """Trains a model, from what is in the folder."""
        from structnet.label_tree import LogBilinearLM
        from structnet.recipes.language_model import runs

        model = LogBilinearLM(data.words, settings.training, data.encoded)
        seconds, details = runs.trained(model, data, run, say)
        run.save_model(model, data.words.config())
        run.write_text("neighbours.txt", runs.neighbours(model))
        return Outcome(seconds, details)

    def open(self, run: Run, place: Place) -> LogBilinearLM:
        from structnet.recipes.language_model.runs import opened

        return opened(run)

    def read(self, run: Run, file: str, place: Place) -> NextWords:
        """The places of a text."""
        from structnet.recipes.language_model.runs import opened, places

        return places(opened(run), file)

    def measure(
        self, model: LogBilinearLM, examples: NextWords, ask: AskOfWords
    ) -> dict[str, float]:
        """The perplexity."""
        return {"perplexity": model.perplexity(examples)}

    def answer(self, model: LogBilinearLM, texts: Sequence[str], ask: AskOfWords) -> list[Answer]:
        """The likeliest words after each beginning of a sentence."""
        from structnet.routing.words import percent

        found = []
        for text in texts:
            told = dict(model.next_words(text.split(), ask.top))
            words = ", ".join(f"{word} {percent(p, 1)}" for word, p in told.items())
            found.append(Answer(f"{text} ... {words}", {"text": text, "words": told}))
        return found

    def pictures(
        self, run: Run, data: Any = None, texts: Sequence[str] = (), place: Place | None = None
    ) -> Pictures:
        """The losses, epoch by epoch."""
        return run.history_picture()
