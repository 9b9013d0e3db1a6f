"""The work of the commands on a run of a language model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np
import torch
from sklearn.base import clone

from structnet.datasets import load_text
from structnet.estimators.next_words import known_words
from structnet.label_tree import (
    LabelTreeLanguageModel,
    LogBilinearLM,
    NextWords,
    TreeSoftmaxLoss,
)
from structnet.label_tree.shapes import check_depth
from structnet.recipes.arrays import check_size
from structnet.recipes.language_model.settings import LanguageModelRunSettings
from structnet.recipes.recipe import Answer, AskOfWords, Outcome, Pictures, Place, Say
from structnet.recipes.run import Run
from structnet.recipes.texts import TextData, Texts, measure, next_words, read
from structnet.recipes.words import counted
from structnet.text.ngrams import perplexity

__all__ = ["answer", "load", "measure", "open", "pictures", "read", "train"]

SHOWN = 40  # nodes listed in neighbours.txt
TIMED = 20  # test batches that are timed
FEW = 100  # sentences that a model learns from untimed


def load(settings: LanguageModelRunSettings, say: Say) -> TextData:
    """The text of a run, whose size it also reports; a tree too small for it is refused.

    Raises:
        TextError, WordError, DownloadError: the text does not exist, or is too short.
        ValueError: there are too few sentences, or their words do not fit into the depth.
    """
    say(f"reading {settings.data} ...")
    training, rows = settings.training, settings.rows
    text = load_text(settings.data, settings.place.data_dir, training.seed)
    check_size(len(text.train), rows.train_size, "training sentences")
    train = text.train[: rows.train_size]  # from its beginning, as it is one text
    words = len(known_words(train, rows.min_count, rows.max_words))
    data = TextData(settings.data, text.split, train, text.validation, text.test)
    say(f"data: {data.in_words()}; {counted(words, 'known word')}")
    if training.max_depth is not None:
        check_depth(words, training.arity, training.max_depth)
    return data


def train(settings: LanguageModelRunSettings, data: TextData, run: Run, say: Say) -> Outcome:
    """Trains a model, or resumes from the state in the folder."""
    chosen = dict(vars(settings.training))
    chosen |= {"random_state": chosen.pop("seed")}
    chosen |= {"min_count": settings.rows.min_count, "max_words": settings.rows.max_words}
    model = LabelTreeLanguageModel(**chosen)
    # What is compiled at first use is not timed.
    clone(model).set_params(epochs=1).fit(data.train[:FEW], X_val=data.validation[:1])
    before = len(run.history)
    model.set_params(folder=run.folder, verbose=True).fit(data.train, X_val=data.validation)
    model.save(run.model_file)
    run.write_text("neighbours.txt", _neighbours(model.model_))
    speeds = model.history_["examples_per_second"][before:]  # none if the last epoch was done
    size = model.batch_size
    places = _places(model, data.test)
    details: dict[str, Any] = {
        "known_words": len(model.words_),
        # As in the paper, where the unknown word is one of the words.
        "perplexity_with_unknown": perplexity(model.model_.log_prob_of(places)),
        "ms_training_batch": 1000 * size / median(speeds) if speeds else None,
        "ms_test_batch": _test_milliseconds(model.model_, places, size),
    }
    if isinstance(model.model_.head, TreeSoftmaxLoss):
        counts = model.model_.head.counts.numpy()
        details["mean_depth"] = float(model.model_.head.codes.depth @ counts / counts.sum())
    return Outcome(sum(model.history_["seconds"]), details)


def _places(model: LabelTreeLanguageModel, texts: Texts) -> NextWords:
    return NextWords(model.words_.encode(texts), model.model_.boundary, model.context)


@torch.no_grad()
def _test_milliseconds(model: LogBilinearLM, places: NextWords, size: int) -> float:
    """The mean milliseconds of processor time for a test batch, without n-grams."""
    model.eval()
    batches = [places[np.arange(size) + k * size] for k in range(len(places) // size)][:TIMED]
    seconds = []
    for batch in batches[:1] + batches:  # the first untimed, as it may include compilation
        start = time.process_time()
        model.head(model.represent(batch.words), batch.target)
        seconds.append(time.process_time() - start)
    return 1000 * sum(seconds[1:]) / max(len(batches), 1)


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


def open(run: Run, place: Place) -> LabelTreeLanguageModel:
    """The trained estimator of a run."""
    return LabelTreeLanguageModel.load(run.trained_file())


def answer(model: LabelTreeLanguageModel, texts: Sequence[str], ask: AskOfWords) -> list[Answer]:
    """The likeliest words after each beginning of a sentence.

    Raises:
        ValueError: a text has no words.
    """
    return next_words(model, texts, ask.top)


def pictures(run: Run, *_: Any) -> Pictures:
    """The losses over the epochs."""
    return run.history_picture()
