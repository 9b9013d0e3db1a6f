"""The work of the commands on a run of a language model."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from structnet.datasets import load_text
from structnet.label_tree import (
    LogBilinearLM,
    NextWords,
    SparseAdagrad,
    TreeSoftmaxLoss,
    train_language_model,
)
from structnet.label_tree.language_model import Context
from structnet.label_tree.ngram_mixture import NGramMixture
from structnet.label_tree.shapes import check_depth
from structnet.recipes.arrays import check_size
from structnet.recipes.language_model.settings import LanguageModelRunSettings
from structnet.recipes.protocol import sizes_in_words, sizes_of
from structnet.recipes.recipe import Answer, AskOfWords, Outcome, Pictures, Place, Say
from structnet.recipes.run import Run
from structnet.routing.words import percent
from structnet.text import Encoded, NGrams, Words, read_sentences
from structnet.text.ngrams import perplexity

SHOWN = 40  # nodes listed in neighbours.txt
TIMED = 20  # test batches that are timed


@dataclass
class TextData:
    """The words of a text, and the places whose next words are predicted.

    Attributes:
        words: vocabulary.
        encoded: training sentences as numbers of words.
        train, validation, test: places with the words before them.
        name: name of the text.
    """

    words: Words
    encoded: Encoded
    train: NextWords
    validation: NextWords
    test: NextWords
    name: str

    def describe(self) -> dict[str, Any]:
        """The description in ``config.json``, by which the same data are recognized."""
        return {"name": self.name, "words": len(self.words), **sizes_of(self)}

    def in_words(self) -> str:
        """The number of words, in words."""
        return f"words: {sizes_in_words(self)}; {len(self.words):,} different ones"


def load(settings: LanguageModelRunSettings, say: Say) -> TextData:
    """The text of a run, whose size it also reports; a tree too small for it is refused.

    Raises:
        TextError, WordError, DownloadError: the text does not exist, or is too short.
        ValueError: the text has only one word or too few sentences, or its words do not fit into
            the depth.
    """
    say(f"reading {settings.data} ...")
    told, rows = settings.training, settings.rows
    text = load_text(settings.data, settings.place.data_dir, told.seed)
    check_size(len(text.train), rows.train_size, "training sentences")
    train = text.train[: rows.train_size]  # from its beginning, as it is one text
    words = Words.from_sentences(train, rows.min_count, rows.max_words)
    if len(words) < 2:
        raise ValueError(f"{settings.data} has only one word; expected at least 2")
    coded = [words.encode(part) for part in (train, text.validation, text.test)]
    train_part, validation, test = (NextWords(each, len(words), told.context) for each in coded)
    data = TextData(words, coded[0], train_part, validation, test, text.name)
    say(f"data: {data.in_words()}")
    if told.max_depth is not None:
        check_depth(len(words), told.arity, told.max_depth)
    return data


def train(settings: LanguageModelRunSettings, data: TextData, run: Run, say: Say) -> Outcome:
    """Trains a model, or resumes from the state in the folder."""
    model = LogBilinearLM(data.words, settings.training, data.encoded)
    seconds, details = _trained(model, data, run)
    ngrams = None if model.counted is None else model.counted.ngrams.sizes
    run.save_model(model, {**data.words.config(), "ngrams": ngrams})
    run.write_text("neighbours.txt", _neighbours(model))
    return Outcome(seconds, details)


def _trained(model: LogBilinearLM, data: TextData, run: Run) -> tuple[float, dict]:
    """Trains a model, and returns the seconds and other facts for the result."""
    size = model.settings.batch_size
    _untimed_step(model, data.train[np.arange(min(size, len(data.train)))])
    before, start = len(run.history), time.process_time()
    history = train_language_model(model, data.train, data.validation, folder=run.folder)
    spent = time.process_time() - start
    epochs = len(history) - before  # 0 if the run was interrupted after its last epoch
    validate = model.log_prob_without_ngrams  # as in training
    once = min(_processor_seconds(validate, data.validation) for _ in range(3))
    batches = epochs * -(-len(data.train) // size)
    details: dict[str, Any] = {
        "ms_training_batch": 1000 * (spent - epochs * once) / batches if batches else math.nan,
        "ms_test_batch": _test_milliseconds(model, data.test, size),
    }
    if isinstance(model.head, TreeSoftmaxLoss):
        counts = model.head.counts.numpy()
        details["mean_depth"] = float(model.head.codes.depth @ counts / counts.sum())
    return sum(history["seconds"]), details


def _untimed_step(model: LogBilinearLM, batch: Context) -> None:
    """Makes a step with a copy, so that compilation in the first step is not timed."""
    model = copy.deepcopy(model).train()
    model.loss(batch).backward()
    SparseAdagrad(model.parameters()).step()


def _processor_seconds(function: Callable, *given: Any) -> float:
    start = time.process_time()
    function(*given)
    return time.process_time() - start


@torch.no_grad()
def _test_milliseconds(model: LogBilinearLM, places: NextWords, size: int) -> float:
    """The mean milliseconds of processor time for a test batch, without n-grams."""

    def losses(batch: Context) -> None:
        model.head(model.represent(batch.words), batch.target)

    model.eval()
    batches = [places[np.arange(size) + k * size] for k in range(len(places) // size)][:TIMED]
    for batch in batches[:1]:  # untimed, as it may include compilation
        losses(batch)
    seconds = [_processor_seconds(losses, batch) for batch in batches]
    return 1000 * sum(seconds) / max(len(batches), 1)


def _neighbours(model: LogBilinearLM) -> str:
    """Words with the same last node, most frequent first, one node per line (Table 4)."""
    if not isinstance(model.head, TreeSoftmaxLoss):
        return ""
    codes, counts = model.head.codes, model.head.counts.numpy()
    last = codes.nodes[codes.offsets[1:] - 1]
    lines = []
    for node in np.argsort(-np.bincount(last, counts, codes.num_nodes), kind="stable"):
        here = np.flatnonzero(last == node)
        here = here[np.argsort(-counts[here], kind="stable")][:12]
        if len(here) > 1:
            lines.append(" ".join(model.words.words[k] for k in here))
    return "\n".join(lines[:SHOWN]) + "\n"


def open(run: Run, place: Place) -> LogBilinearLM:
    """The trained model of a run."""
    told = run.settings(LanguageModelRunSettings).training

    def make(content: dict[str, Any]) -> LogBilinearLM:
        model = LogBilinearLM(Words.from_config(content), told)
        if content.get("ngrams") is not None:
            model.counted = NGramMixture(NGrams(*content["ngrams"]))
        return model

    return run.load_model(make)


def read(run: Run, file: str, place: Place) -> NextWords:
    """The places of a text whose next words are predicted."""
    model = open(run, place)
    return NextWords(
        model.words.encode(read_sentences(file)), model.boundary, model.settings.context
    )


def measure(model: LogBilinearLM, examples: NextWords, ask: AskOfWords) -> dict[str, float]:
    """The perplexity and, with n-grams, also that of the tree alone and of the n-grams alone."""
    said, counted = model.log_prob_without_ngrams(examples), model.counted
    if counted is None:
        return {"perplexity": perplexity(said)}
    words, target = examples.words, examples.target
    return {
        "perplexity": perplexity(counted.log_prob_of(words, target, said)),
        "perplexity_without_ngrams": perplexity(said),
        "perplexity_of_ngrams": counted.ngrams.perplexity(words, target),
    }


def answer(model: LogBilinearLM, texts: Sequence[str], ask: AskOfWords) -> list[Answer]:
    """The likeliest words after each beginning of a sentence."""
    found = []
    for text in texts:
        told = {word: round(p, 6) for word, p in model.next_words(text.split(), ask.top)}
        words = ", ".join(f"{word} {percent(p, 1)}" for word, p in told.items())
        found.append(Answer(f"{text} ... {words}", {"text": text, "words": told}))
    return found


def pictures(run: Run, *_: Any) -> Pictures:
    """The losses over the epochs."""
    return run.history_picture()
