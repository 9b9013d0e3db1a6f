"""The work of the commands on a run of a routed language model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from structnet.naru import NextWord
from structnet.naru import train as trained
from structnet.naru.language_model import measured
from structnet.naru.preparation import known_words, vectors_of
from structnet.recipes.naru import measures
from structnet.recipes.naru.pictures import of_run
from structnet.recipes.naru.settings import NaruRunSettings
from structnet.recipes.naru.text import Opened, TextData, load_data, model_of
from structnet.recipes.recipe import Answer, AskOfWords, Outcome, Pictures, Place, Say
from structnet.recipes.run import Run
from structnet.recipes.words import counted
from structnet.text import NGrams, Words, read_sentences
from structnet.training import set_threads
from structnet.training.processes import own_device
from structnet.training.threads import threads_are_set

COUNTS_ALONE = (
    "the network adds nothing sure to the counts of following words, which answer alone: the "
    "accuracy is theirs"
)


def load(settings: NaruRunSettings, say: Say) -> TextData:
    """The sentences of a run, whose numbers it also reports."""
    say(f"reading {settings.data} ...")
    data = load_data(settings)
    words = sum(map(len, data.train))
    say(
        f"data: {counted(len(data.train), 'sentence')} of {counted(words, 'word')} to learn "
        f"from, {len(data.validation):,} for validation, {len(data.test):,} to test"
    )
    return data


def train(settings: NaruRunSettings, data: TextData, run: Run, say: Say) -> Outcome:
    """Learns word vectors and trains a network, or resumes from the state in the folder."""
    if not threads_are_set():
        set_threads(1)  # products have few rows; those for vectors and tests are small, too
    training = settings.training.told()
    words = known_words(data.train, training)
    cache, given = run.folder / "vectors.safetensors", settings.sentences.vectors
    say(f"{counted(len(words), 'known word')}; vectors ...")
    vectors = vectors_of(words, data.train, training, given, cache)
    model = model_of(settings.training, words, vectors)
    own = Opened(model, words, training.max_length)
    test = own.sentences(data.test)
    before = measures.of_model(model, test)
    learned = own.sentences(data.train)
    history = trained(
        model,
        training,
        learned,
        own.sentences(data.validation),
        device=own_device(settings.place.device),
        folder=run.folder,
        progress=True,
    )
    ngrams = None if model.following is None else model.following.sizes
    content = {**words.config(), "dim": model.vectors.shape[1], "ngrams": ngrams}
    run.save_model(model.to("cpu"), content)
    details = {
        "parameters": sum(each.numel() for each in model.network.parameters()),
        "multiply_adds": model.network.multiply_adds,
        "known_words": len(words),
        "epochs": len(history),
        "mean_vector_loss": measures.mean_vector_loss(model, learned, test),
        "following_words": measures.of_counts(model, test),
        "untrained": before,
        "trained": measures.of_model(model, test, run.folder),
    }
    return Outcome(sum(history["seconds"]) if len(history) else 0.0, details)


def open(run: Run, place: Place) -> Opened:
    """The trained model of a run."""
    training, found = run.settings(NaruRunSettings).training, list[Words]()

    def make(content: dict[str, Any]) -> NextWord:
        found.append(Words.from_config(content))
        model = model_of(training, found[0], torch.zeros(len(found[0]), content["dim"]))
        if content["ngrams"] is not None:  # None if the nearest vector is the answer
            model.following = NGrams(*content["ngrams"])
        return model

    model = run.load_model(make).to(own_device(place.device))
    return Opened(model, found[0], training.max_length)


def read(run: Run, file: str, place: Place) -> list[list[str]]:
    """The sentences of a text."""
    return read_sentences(file)


def measure(model: Opened, examples: Sequence[list[str]], ask: AskOfWords) -> dict[str, float]:
    """The mean loss, and the share of next words that are predicted correctly.

    A line says so if the answers are those of the counts of words, without the network.

    Raises:
        ValueError: no sentence has a word to predict.
    """
    sentences = model.sentences(list(examples))
    if not len(sentences):
        raise ValueError("there is nothing to predict: no sentence has two words or more")
    if measures.counts_alone(model.model):
        print(COUNTS_ALONE)
    return measured(model.model, sentences.to(model.model.vectors.device))._asdict()


def answer(model: Opened, texts: Sequence[str], ask: AskOfWords) -> list[Answer]:
    """The likeliest next words of each beginning of a sentence.

    Raises:
        ValueError: a text has no words.
    """
    return [measures.next_words(model, text, ask.top) for text in texts]


def pictures(run: Run, *_: Any) -> Pictures:
    """The loss over the epochs, the figures of the thesis, and the network with its traffic."""
    return of_run(run)
