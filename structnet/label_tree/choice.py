"""What a user leaves open: chosen by what there is, or on samples held out."""

from __future__ import annotations

import warnings
from dataclasses import replace
from operator import itemgetter

import numpy as np

from structnet.estimators.held_out import hold_out
from structnet.label_tree.examples import Examples
from structnet.label_tree.settings import LabelTreeSettings
from structnet.label_tree.shapes import usual_arity
from structnet.label_tree.training import CollapseError, Training, begin
from structnet.training.progress import Progress

ONE_NODE = 500  # labels up to which a node of all is tried: slower, but no way down to err on
SIZE = 50  # of the features' vectors
STEPS = 500_000  # examples that a training goes through, at least
EPOCHS = (5, 100)
TRIED = 400_000  # examples that a trial goes through, at most
RATES = (1.0, 3.0, 0.3)  # times the rate that suits the size of the features
VECTORS = 0.2  # rate where the features' vectors are learned
DIRECT = 50_000_000  # numbers for all labels, of all features, up to which they are tried
WORK = 30_000_000_000  # products of a training, up to which more labels are tried at one node
PASSES = 5  # for one through the examples that such a node of all makes
SOFTMAX = 10  # products that a label's share of a softmax takes as long as
DENSE = 2.5  # products of matrices that take as long as one of a sparse row
ENOUGH = 0.98  # score of a tree from which on nothing larger or slower is tried
FEWEST = 2  # passes of such a node of sparse rows, which begins with nothing
LEAST = 40  # examples from which on some are held out


def choose(
    examples: Examples,
    num_classes: int,
    settings: LabelTreeSettings,
    progress: bool | Progress = False,
) -> LabelTreeSettings:
    """The settings with what is None filled in.

    The rate, and whether the tree is learned or Huffman's or, where that takes seconds, a single
    node, are tried on a tenth of the examples that the trials have not seen; where a trial would
    take long, on fewer examples. Of sparse rows or text, a single node that decides on the features
    themselves, without vectors, is tried too or, of too many labels, a tree of k-means.

    Args:
        settings: settings; what they say stays.
        progress: place to say what is tried.
    """
    progress = Progress.of(progress)
    told, settings = settings, filled_in(examples, num_classes, settings)
    if told.start is None and told.tree in (None, "learned") and settings.start == "huffman":
        warnings.warn(
            f"{', '.join(settings.of_reassignments)} told of reassignments, so that a learned tree "
            "starts from Huffman's and not by groups; give start to say which",
            stacklevel=3,
        )
    if settings.tree is not None and settings.learning_rate is not None:
        return settings
    families = _families(told, num_classes, examples, settings)
    first, rates = families[0][0], _rates(examples, families[0][0])
    if len(examples) < LEAST or len(rates) == len(families[0]) == len(families) == 1:
        return replace(first, learning_rate=rates[0])
    learn, held = hold_out(len(examples), 0.1, settings.seed)
    assert settings.epochs is not None
    most = max(TRIED // settings.epochs, 10 * num_classes)
    learn = np.random.default_rng(settings.seed).permutation(learn)[:most]
    parts = examples[learn], examples[held[:most]]

    def tried(one: LabelTreeSettings, rate: float) -> tuple[float, float, LabelTreeSettings]:
        assert settings.epochs is not None and one.epochs is not None
        # The fewer the passes, the longer the steps, unless their length is told, or what is left
        # to learn is little: see `begin`.
        scaled = settings.learning_rate is None and not examples.features.is_table
        times = settings.epochs / one.epochs if scaled else 1
        one = replace(one, learning_rate=rate * times)
        score = _score(one, num_classes, *parts)
        kind = f"a {one.tree} tree of arity {one.arity}, rate {one.learning_rate:.3g}"
        progress.say_when_due(f"tried {kind}: score {score:.3f} held out", last=False)
        return score, rate, one

    def best_of(one: LabelTreeSettings, rates: list[float]) -> tuple:
        tries = []
        for rate in rates:
            tries.append(tried(one, rate))
            if len(tries) == 2 and tries[1][0] > tries[0][0]:
                break  # the third one goes the other way
        return max(tries, key=itemgetter(0))

    found: list[tuple[float, float, LabelTreeSettings]] = []
    for first, *others in families:
        best = best_of(first, _rates(examples, first))
        found.append(best)
        if best[0] >= ENOUGH:
            break
        for each in others:
            # What suits a tree says nothing of a single node, where no vectors wait for it.
            same = each.arity == first.arity or each.embedding_size
            rates = [best[1]] if same else _rates(examples, each)
            found.append(best_of(each, rates if num_classes <= ONE_NODE else rates[:1]))
    # A node of all labels, without vectors, ends where it began to go, as a learned tree may not:
    # it is taken unless another is better by more than chance.
    score = max(each[0] for each in found)
    chance = (2 * max(score * (1 - score), 0) / len(parts[1])) ** 0.5
    nodes = [each for each in found if each[2].arity == num_classes and not each[2].embedding_size]
    steady = [each for each in nodes if each[0] > score - chance]
    return max(steady or found, key=itemgetter(0))[2]


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
        arity=settings.arity or usual_arity(num_classes),
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
    told: LabelTreeSettings, num_classes: int, examples: Examples, settings: LabelTreeSettings
) -> list[list[LabelTreeSettings]]:
    """The kinds of tree that may be chosen; of the first of each row, all rates are tried."""
    assert settings.arity is not None
    if settings.tree is not None:
        return [[settings]]
    huffman, features = replace(settings, tree="huffman"), examples.features
    is_node = num_classes <= settings.arity
    node = _one_node(told, num_classes, examples, settings)
    found = [huffman] if is_node else [replace(settings, tree="learned"), node or huffman]
    # Vectors of features are learned badly from few examples of each label.
    few = not features.is_table and num_classes * features.size <= DIRECT
    untold = told.embedding_size is None and told.start is None
    if not (few and untold) or settings.of_reassignments:
        return [found]
    direct = replace(settings, embedding_size=0)
    node = _one_node(told, num_classes, examples, direct)
    return [found, [node or replace(direct, tree="huffman" if is_node else "clusters")]]


def _one_node(
    told: LabelTreeSettings, num_classes: int, examples: Examples, settings: LabelTreeSettings
) -> LabelTreeSettings | None:
    """A single node of more labels than a node of a tree has, if it learns in seconds.

    Without vectors nothing waits for another thing to be learnt, so fewer passes do: of dense rows,
    where it begins with a solution, one if need be.
    """
    features, epochs = examples.features, settings.epochs
    assert epochs is not None
    if told.arity is not None or num_classes <= usual_arity(num_classes):
        return None
    most = ONE_NODE
    if not settings.embedding_size:
        products = features.values.size / (DENSE if features.is_table else 1)
        work = products + SOFTMAX * len(examples)  # of a pass, for each label
        affordable, fewest = int(WORK / (num_classes * work)), 1 if features.is_table else FEWEST
        few = features.is_table and num_classes <= ONE_NODE  # as a tree, it may have more to learn
        usual = epochs if few else max(epochs // PASSES, EPOCHS[0])
        epochs = told.epochs or int(np.clip(affordable, fewest, usual))
        most = max(ONE_NODE, int(WORK / (epochs * work)))
    node = replace(settings, tree="huffman", arity=num_classes, epochs=epochs)
    return node if num_classes <= most else None


def _rates(examples: Examples, settings: LabelTreeSettings) -> list[float]:
    """The rates that may be chosen."""
    if settings.learning_rate is not None:
        return [settings.learning_rate]
    base = base_rate(examples, settings)
    return [base * times for times in RATES]


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
