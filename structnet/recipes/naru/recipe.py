"""The recipe of routed language models: a run from a text to what the model says comes next.

Nothing here imports torch before it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from structnet.recipes.naru.paper import TABLES
from structnet.recipes.naru.paper import Choice as FigureChoice
from structnet.recipes.naru.settings import DATA_SETS, FILES, NaruRunSettings
from structnet.recipes.protocol import Recipe
from structnet.recipes.recipe import Answer, AskOfWords, Outcome, Pictures, Place, Say
from structnet.recipes.words import counted

if TYPE_CHECKING:
    from structnet.recipes.naru.text import Opened, TextData
    from structnet.recipes.run import Run


class NaruRecipe(Recipe):
    """Routed networks that predict the next word."""

    name = "naru"
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
    data_sets = DATA_SETS
    files = FILES
    Settings = NaruRunSettings
    Ask = AskOfWords
    Choice = FigureChoice
    tables = TABLES

    def load(self, settings: NaruRunSettings, say: Say) -> TextData:
        """The sentences of a run, with a word on them."""
        from structnet.recipes.naru.text import load_data

        say(f"reading {settings.data} ...")
        data = load_data(settings)
        words = sum(map(len, data.train))
        say(
            f"data: {counted(len(data.train), 'sentence')} of {counted(words, 'word')} to learn "
            f"from, {len(data.validation):,} for validation, {len(data.test):,} to test"
        )
        return data

    def train(self, settings: NaruRunSettings, data: TextData, run: Run, say: Say) -> Outcome:
        """Learns vectors and trains a network, from what is in the folder."""
        from structnet.naru import train
        from structnet.naru.preparation import known_words, vectors_of
        from structnet.recipes.naru import figures
        from structnet.recipes.naru.text import Opened, model_of
        from structnet.training import set_threads
        from structnet.training.processes import own_device
        from structnet.training.threads import threads_are_set

        if not threads_are_set():
            set_threads(1)  # the products are of a few rows; vectors and tests, too, are small
        training = settings.training.told()
        words = known_words(data.train, training)
        cache, given = run.folder / "vectors.safetensors", settings.sentences.vectors
        say(f"{counted(len(words), 'known word')}; vectors ...")
        vectors = vectors_of(words, data.train, training, given, cache)
        model = model_of(settings.training, words, vectors)
        own = Opened(model, words, training.max_length)
        test = own.sentences(data.test)
        before = figures.of_model(model, test)
        learned = own.sentences(data.train)
        history = train(
            model,
            training,
            learned,
            own.sentences(data.validation),
            device=own_device(settings.place.device),
            folder=run.folder,
            progress=True,
        )
        pairs = None if model.following is None else len(model.following.next)
        content = {**words.config(), "dim": model.vectors.shape[1], "pairs": pairs}
        run.save_model(model.to("cpu"), content)
        details = {
            "parameters": sum(each.numel() for each in model.network.parameters()),
            "multiply_adds": figures.multiply_adds(model),
            "known_words": len(words),
            "epochs": len(history),
            "mean_vector_loss": figures.mean_vector_loss(model, learned, test),
            "following_words": figures.of_counts(model, test),
            "untrained": before,
            "trained": figures.of_model(model, test, run.folder),
        }
        return Outcome(sum(history["seconds"]) if len(history) else 0.0, details)

    def open(self, run: Run, place: Place) -> Opened:
        from structnet.recipes.naru.text import opened
        from structnet.training.processes import own_device

        return opened(run, own_device(place.device))

    def read(self, run: Run, file: str, place: Place) -> list[list[str]]:
        """The sentences of a text."""
        from structnet.text import read_sentences

        return read_sentences(file)

    def measure(
        self, model: Opened, examples: Sequence[list[str]], ask: AskOfWords
    ) -> dict[str, float]:
        """The mean loss, and the share of next words that are predicted right.

        Raises:
            ValueError: no sentence has a word to predict.
        """
        from structnet.naru.language_model import measured

        sentences = model.sentences(list(examples))
        if not len(sentences):
            raise ValueError("there is nothing to predict: no sentence has two words or more")
        return measured(model.model, sentences.to(model.model.vectors.device))

    def answer(self, model: Opened, texts: Sequence[str], ask: AskOfWords) -> list[Answer]:
        """The likeliest next words of each beginning of a sentence.

        Raises:
            ValueError: a text has no word.
        """
        from structnet.recipes.naru.figures import next_words

        return [next_words(model, text, ask.top) for text in texts]

    def pictures(
        self, run: Run, data: Any = None, texts: Sequence[str] = (), place: Place | None = None
    ) -> Pictures:
        """The losses, the figures of the thesis, and the network with its traffic."""
        from structnet.recipes.naru import pictures

        return pictures.of_run(run)
