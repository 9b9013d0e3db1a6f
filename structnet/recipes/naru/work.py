"""The work of the commands on a run of a routed language model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import clone

from structnet.estimators.next_words import known_words
from structnet.naru import RoutedLanguageModel
from structnet.naru.language_model import RecurrentLanguageModel
from structnet.recipes import texts
from structnet.recipes.naru import measures
from structnet.recipes.naru.pictures import of_run
from structnet.recipes.naru.settings import NaruRunSettings
from structnet.recipes.naru.text import load_data
from structnet.recipes.recipe import Answer, AskOfWords, Outcome, Pictures, Place, Say
from structnet.recipes.run import Run
from structnet.recipes.texts import TextData, Texts, read
from structnet.recipes.words import counted
from structnet.training import set_threads
from structnet.training.modules import count_parameters
from structnet.training.processes import own_device
from structnet.training.threads import threads_are_set

__all__ = ["answer", "load", "measure", "open", "pictures", "read", "train"]

ESTIMATORS = {"naru": RoutedLanguageModel, "gru": RecurrentLanguageModel}
COUNTS_ALONE = (
    "the network adds nothing sure to the counts of following words, which answer alone: the "
    "accuracy and the perplexity are theirs"
)


def load(settings: NaruRunSettings, say: Say) -> TextData:
    """The sentences of a run, whose numbers it also reports."""
    say(f"reading {settings.data} ...")
    data = load_data(settings)
    say(f"data: {data.in_words()}")
    return data


def train(settings: NaruRunSettings, data: TextData, run: Run, say: Say) -> Outcome:
    """Trains a model from the beginning, or resumes from the state in the folder."""
    if not threads_are_set():
        set_threads(1)  # products have few rows; those for vectors and tests are small, too
    training = settings.training
    parameters = dict(vars(training.to_library()))
    parameters |= {"random_state": parameters.pop("seed"), "device": settings.place.device}
    model = ESTIMATORS[training.network](**parameters, vectors=settings.sentences.vectors)
    words = known_words(data.train, model.min_count, model.max_words)
    say(f"{counted(len(words), 'known word')} ...")
    model.set_params(folder=run.folder, verbose=True).fit(data.train, X_val=data.validation)
    vectors = dict(zip(model.words_.words, model.model_.vectors.cpu().numpy(), strict=True))
    alone = {"epochs": 0, "decoding": "nearest", "vectors": vectors}  # the network without counts
    untrained = clone(model).set_params(**alone, folder=None)
    untrained.fit(data.train, X_val=data.validation)
    model.set_params(device="cpu").save(run.model_file)  # to be opened on any machine
    network = model.model_.network
    details = {
        "parameters": count_parameters(network),
        "multiply_adds": network.multiply_adds,
        "known_words": len(model.words_),
        "epochs": len(model.history_),
        "mean_vector_loss": measures.mean_vector_loss(model, data.train, data.test),
        "following_words": measures.of_counts(model, data.test),
        "untrained": measures.of_model(untrained, data.test),
        "trained": measures.of_model(model, data.test, run.folder),
    }
    return Outcome(sum(model.history_["seconds"]), details)


def open(run: Run, place: Place) -> RoutedLanguageModel:
    """The trained estimator of a run."""
    network = run.settings(NaruRunSettings).training.network
    model = ESTIMATORS[network].load(run.trained_file())
    model.set_params(device=place.device).model_.to(own_device(place.device))
    return model


def measure(model: RoutedLanguageModel, examples: Texts, ask: AskOfWords) -> dict[str, float]:
    """The accuracy, and the perplexity of the known words and of each part of the mixture alone.

    A line says so if the answers are those of the counts of words, without the network.

    Raises:
        ValueError: no sentence has a word to predict.
    """
    if not model.uses_network_:
        print(COUNTS_ALONE)
    return texts.measure(model, examples, ask)


def answer(model: RoutedLanguageModel, typed: Sequence[str], ask: AskOfWords) -> list[Answer]:
    """The likeliest next words of each beginning of a sentence, and the path of its last word.

    Raises:
        ValueError: a text has no words.
    """
    answers = texts.next_words(model, typed, ask.top)
    for each in answers if measures.is_routed(model) else ():
        words = each.values["text"].split()
        # The last word of a sentence reaches no prediction, so it is followed by any other.
        each.values["path"] = model.paths([[*words, words[-1]]])[0][-2].tolist()
    return answers


def pictures(run: Run, *_: Any) -> Pictures:
    """The loss over the epochs, the figures of the thesis, and the network with its traffic."""
    return of_run(run)
