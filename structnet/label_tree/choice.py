"""What a user leaves open: chosen by what there is, or on samples held out."""

from __future__ import annotations

import warnings
from dataclasses import replace
from operator import itemgetter

import numpy as np

from structnet.estimators.held_out import hold_out
from structnet.label_tree.features import Features
from structnet.label_tree.settings import LabelTreeSettings
from structnet.label_tree.training import CollapseError, Examples, Training, begin

ARITY = 20
ONE_NODE = 500  # labels up to which a node of all is tried: slower, but no way down to err on
SIZE = 50  # of the features' vectors
STEPS = 500_000  # examples that a training goes through, at least
EPOCHS = (5, 100)
TRIED = 400_000  # examples that a trial goes through, at most
RATES = (0.3, 1.0, 3.0)  # times the rate that suits the size of the features
VECTORS = 0.2  # rate where the features' vectors are learned
DIRECT = 50_000_000  # weights of all features for all labels, up to which they are tried
LEAST = 40  # examples from which on some are held out


def choose(examples: Examples, num_classes: int, settings: LabelTreeSettings) -> LabelTreeSettings:
    """The settings with what is None filled in.

    The rate, and whether the tree is learned or Huffman's or, of some hundreds of labels, a single
    node, are tried on a tenth of the examples that the trials have not seen; where a trial would
    take long, on fewer examples. Where there is no single node, a tree of k-means that decides on
    the features of sparse rows or text themselves, without vectors, is tried too.

    Args:
        settings: settings; what they say stays.
    """
    told, settings = settings, filled_in(examples, num_classes, settings)
    if told.start is None and told.tree in (None, "learned") and settings.start == "huffman":
        warnings.warn(
            f"{', '.join(settings.of_reassignments)} told of reassignments, so that a learned tree "
            "starts from Huffman's and not by groups; give start to say which",
            stacklevel=3,
        )
    if settings.tree is not None and settings.learning_rate is not None:
        return settings
    families = _families(told, num_classes, examples.features, settings)
    tries = [
        [replace(one[0], learning_rate=rate) for rate in _rates(examples, one[0])]
        for one in families
    ]
    if len(examples) < LEAST or len(tries[0]) == len(families[0]) == len(families) == 1:
        return tries[0][0]
    learn, held = hold_out(len(examples), 0.1, settings.seed)
    assert settings.epochs is not None
    most = max(TRIED // settings.epochs, 10 * num_classes)
    learn = np.random.default_rng(settings.seed).permutation(learn)[:most]
    parts = examples[learn], examples[held[:most]]

    def best_of(tries: list[LabelTreeSettings]) -> tuple[float, LabelTreeSettings]:
        return max(((_score(each, num_classes, *parts), each) for each in tries), key=itemgetter(0))

    found = []
    for (_, *others), rates in zip(families, tries, strict=True):
        found.append(best_of(rates))
        rate = found[-1][1].learning_rate
        found += [best_of([replace(each, learning_rate=rate)]) for each in others]
    return max(found, key=itemgetter(0))[1]


def filled_in(
    examples: Examples, num_classes: int, settings: LabelTreeSettings
) -> LabelTreeSettings:
    """The settings with all but the rate and the kind of tree."""
    low, high = EPOCHS
    size = settings.embedding_size
    if size is None:
        size = 0 if examples.features.is_table else SIZE
    filled = replace(
        settings,
        arity=settings.arity or max(2, min(ARITY, num_classes)),
        embedding_size=size,
        epochs=settings.epochs or int(np.clip(-(-STEPS // max(len(examples), 1)), low, high)),
    )
    return replace(filled, start=filled.begins)


def base_rate(examples: Examples, settings: LabelTreeSettings) -> float:
    """The rate at which a step moves a decision about as far as it is wrong."""
    features = examples.features
    size = (features.values.astype(np.float64) ** 2).sum() / max(len(examples), 1)  # of a row
    if settings.embedding_size:  # bags of words have rows of size 1 at most
        return float(VECTORS / max(size, 1.0))
    size += settings.bias and not features.is_table  # of short rows, the bias learns most
    return float(1 / max(size, 1e-6)) if size else 1.0  # where only the bias can learn


def _families(
    told: LabelTreeSettings, num_classes: int, features: Features, settings: LabelTreeSettings
) -> list[list[LabelTreeSettings]]:
    """The kinds of tree that may be chosen; of the first of each row, all rates are tried."""
    assert settings.arity is not None
    huffman = replace(settings, tree="huffman")
    if settings.tree is not None:
        return [[settings]]
    if num_classes <= settings.arity:  # a single node
        return [[huffman]]
    found = [replace(settings, tree="learned"), huffman]
    if told.arity is None and num_classes <= ONE_NODE:
        return [[*found, replace(huffman, arity=num_classes)]]
    # A tree learns vectors of features badly from few examples of each label.
    few = not features.is_table and num_classes * features.size <= DIRECT
    untold = told.embedding_size is None and told.start is None
    direct = few and untold and not settings.of_reassignments
    return [found, [replace(settings, tree="clusters", embedding_size=0)]] if direct else [found]


def _rates(examples: Examples, settings: LabelTreeSettings) -> list[float]:
    """The rates that may be chosen."""
    if settings.learning_rate is not None:
        return [settings.learning_rate]
    base = base_rate(examples, settings)
    return [base, *(base * times for times in RATES if times != 1)]


def _score(settings: LabelTreeSettings, num_classes: int, learn: Examples, held: Examples) -> float:
    """The share of samples held out that a tree gets right, and a little for its certainty."""
    tree = begin(learn, num_classes, settings)
    try:
        Training(tree, settings).run(learn)
    except CollapseError:
        return -np.inf
    _, best, _ = tree.top_k(held.features)
    log_p = tree.score(held.features, held.labels)
    return float((best[:, 0] == held.labels).mean() + 1e-3 * np.maximum(log_p, -50).mean())
