"""Chooses settings that are not given, from the data or on held-out examples."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from structnet.estimators.discriminant_analysis import COLUMNS
from structnet.estimators.few_rows import FEW, Solve, solved
from structnet.estimators.held_out import parted
from structnet.label_tree.examples import Examples
from structnet.label_tree.settings import LabelTreeSettings
from structnet.label_tree.shapes import usual_arity
from structnet.label_tree.trials import LOWER, Trials, Tried
from structnet.training.progress import Progress

ONE_NODE = 500  # labels up to which a single node is tried: slower, but without a path to err on
SIZE = 50  # length of the features' vectors
STEPS = 500_000  # examples that training goes through, over as many epochs as it takes
EPOCHS = (5, 100)  # smallest and largest default number
TRIED = 400_000  # largest number of examples that a trial goes through, if 10 per label are fewer
RATES = (1.0, 3.0, LOWER)  # factors of the rate that suits the size of the features
VECTORS = 0.2  # rate if vectors of features are learned
DIRECT = 100_000_000  # labels times features, up to which nodes without vectors are tried
WORK = 30_000_000_000  # multiplications in training, up to which a single node has more labels
PASSES = 5  # passes of a tree for each pass of such a node
SOFTMAX = 10  # multiplications that take as long as one label of a softmax
DENSE = 2.5  # multiplications in a matrix product that take as long as one for a sparse row
SOLVED = 10  # multiplications per label and number of the covariance, to solve a node
ASKED = 6_000_000_000  # multiplications in a trial to score held-out examples for all labels
ENOUGH = 0.98  # score from which on nothing else is tried
FEWEST = 2  # smallest number of passes of such a node on sparse rows, which starts from zero
LEAST = 40  # number of examples from which on some are held out


def choose(
    examples: Examples,
    num_classes: int,
    settings: LabelTreeSettings,
    progress: bool | Progress = False,
    held_out: Examples | None = None,
) -> LabelTreeSettings:
    """The settings, with those that are None filled in.

    The learning rate and the kind of tree - learned, Huffman's or, if it trains in seconds, a
    single node - are chosen by trials, which are compared on a held-out tenth of the examples;
    trials that would take long use fewer examples. On a table, a single node starts close to its
    optimum: it is tried first, and a tree that stays far behind is given up; of fewer than 400
    rows, of which a tenth tells little, it is taken as it starts. On sparse rows or text, a single
    node that classifies the features directly, without vectors, is tried too or, with too many
    labels, a tree of k-means; if the kind of tree is given, that kind. Where no number is negative
    and the tree is not learned, so are naive Bayes and the mean of both.

    Args:
        examples: examples to learn from.
        num_classes: number of labels.
        settings: settings; those that are given are kept.
        progress: report the trials.
        held_out: examples by which trials are compared, instead of a tenth of the others.

    Warns:
        UserWarning: a learned tree starts as Huffman's because settings for reassignments differ
            from their defaults.
    """
    return chosen(examples, num_classes, settings, Progress.of(progress), held_out)[0]


def chosen(
    examples: Examples,
    num_classes: int,
    settings: LabelTreeSettings,
    progress: Progress,
    held_out: Examples | None = None,
    part_classes: np.ndarray | None = None,
    solve: Solve = solved,
) -> tuple[LabelTreeSettings, Trials | None]:
    """As :func:`choose`, with the trials; None if nothing was tried.

    Args:
        examples, num_classes, settings, progress, held_out: arguments of that function.
        part_classes: class of each label, ascending ``[num_classes]``, if labels are parts of
            classes, which trials and ``held_out`` are about.
        solve: function that solves a single node.
    """
    wanted, settings = settings, filled_in(examples, num_classes, settings)
    if wanted.start is None and wanted.tree in (None, "learned") and settings.start == "huffman":
        warnings.warn(
            f"{', '.join(settings.of_reassignments)}: these settings concern reassignments, so a "
            "learned tree starts as Huffman's instead of being grouped once; give start to choose",
            stacklevel=4,
        )
    if settings.tree is not None and settings.learning_rate is not None:
        return settings, None
    candidates = _Candidates(examples, num_classes, wanted, settings)
    untried = candidates.untried(all_learn=held_out is None)
    if untried is not None:
        return untried, None
    solved = candidates.solved
    parts = _parts(examples, num_classes, settings, solved, held_out, part_classes)
    if not len(parts[1]):
        return candidates.cheapest, None
    how: Any = {"part_classes": part_classes, "solve": solve, "temperature": settings.temperature}
    trials = Trials(*parts, num_classes, progress, **how)
    (_try_solved if solved else _try_families)(trials, candidates)
    # On all examples, a single node without vectors does as in its trial, which a learned tree may
    # not: the best such node is preferred unless another candidate is better by more than chance.
    best, tried = trials.best_of(trials.tried), trials.tried
    steady = [
        each
        for each in tried
        if each.settings.arity == num_classes and not each.settings.vector_size
    ]
    if steady and (node := trials.best_of(steady)) in trials.about_as_right(tried):
        best = node
    return trials.or_half(best).settings, trials


@dataclass(frozen=True)
class _Candidates:
    """The settings that may be taken.

    Attributes:
        examples: examples to learn from.
        num_classes: number of labels.
        wanted: settings that were given.
        settings: the same, filled in.
    """

    examples: Examples
    num_classes: int
    wanted: LabelTreeSettings
    settings: LabelTreeSettings

    @cached_property
    def families(self) -> list[list[LabelTreeSettings]]:
        """Families of candidates; all rates are tried for the first one of each family."""
        return _families(self.wanted, self.num_classes, self.examples, self.settings)

    @property
    def node(self) -> LabelTreeSettings:
        """The last one of the first family: a single node, if one is tried there."""
        return self.families[0][-1]

    @property
    def solved(self) -> bool:
        """True if that is a single node that starts from a solution."""
        free = self.wanted.tree is None
        return free and _is_solved(self.node, self.num_classes, self.examples)

    @property
    def cheapest(self) -> LabelTreeSettings:
        """What needs the fewest examples, as with one per label."""
        last = self.families[-1][-1]
        epochs = (self.wanted.epochs or 0) if self.solved else last.epochs
        return replace(last, epochs=epochs, learning_rate=self.rates(last)[0])

    def rates(self, candidate: LabelTreeSettings) -> list[float]:
        """The learning rates to try of one of them."""
        if candidate.learning_rate is not None:
            return [candidate.learning_rate]
        base = base_rate(self.examples, candidate)
        if not self.examples.features.is_table:  # fewer passes need longer steps
            assert candidate.epochs is not None and self.settings.epochs is not None
            base *= max(self.settings.epochs, 1) / max(candidate.epochs, 1)
        return [base * times for times in (RATES if candidate.epochs else RATES[:1])]

    def untried(self, all_learn: bool) -> LabelTreeSettings | None:
        """What is taken without trials, as few examples tell nothing, or there is only one.

        Args:
            all_learn: False if held-out examples are given.
        """
        first, size = self.families[0][0], len(self.examples)
        rates = self.rates(first)
        as_it_starts = self.solved and self.wanted.epochs is None
        if as_it_starts and all_learn and size < FEW:
            return replace(self.node, epochs=0, learning_rate=rates[0])
        alone = len(self.families) == len(self.families[0]) == len(rates) == 1
        if (all_learn and size < LEAST) or (alone and not as_it_starts):
            return replace(self.node if self.solved else first, learning_rate=rates[0])
        return None


def _parts(
    examples: Examples,
    num_classes: int,
    settings: LabelTreeSettings,
    solved: bool,
    held_out: Examples | None,
    part_classes: np.ndarray | None,
) -> tuple[Examples, Examples]:
    """Examples for trials to learn from, and held-out ones of the same labels to compare them."""
    labels = examples.labels if part_classes is None else part_classes[examples.labels]
    others = replace(examples, labels=labels) if held_out is None else held_out
    if held_out is None:
        of = examples.labels, examples.groups
        learn, drawn = parted(len(examples), 0.1, settings.seed, *of)
        held = learn[:0] if drawn is None else drawn
    else:
        learn, held = np.arange(len(examples)), np.arange(len(others))
    if len(examples.shares):  # weights may round to 0 in single precision
        learn = learn[examples.shares[learn] > 0]
    if len(others.shares):
        held = held[others.shares[held] > 0]
    most = max(TRIED // max(settings.epochs or 1, 1), 10 * num_classes)
    rng = np.random.default_rng(settings.seed)
    learn, held = rng.permutation(learn)[:most], rng.permutation(held)
    held = held[np.isin(others.labels[held], labels[learn])]
    if solved:  # each is scored for all labels
        most = min(most, int(ASKED / (num_classes * (examples.features.size / DENSE + SOFTMAX))))
    return examples[learn], others[held[: max(most, LEAST)]]


def _try_solved(trials: Trials, candidates: _Candidates) -> None:
    """Tries a single node on a table, and then a tree.

    The node is tried as it starts, then trained, with longer and longer steps while they help. A
    tree is tried if the node is not good enough; if training did not help the node, a tree that
    stays far behind is given up.
    """
    *trees, node = candidates.families[0]
    rates, errors, epochs = candidates.rates(node), 1.0, candidates.wanted.epochs
    if trials.num_classes > ONE_NODE:  # passes take long
        rates, errors = rates[:1], 2.0
    start, target = None, -np.inf
    if epochs is None or not node.epochs:
        start = trials.run(replace(node, epochs=0, learning_rate=rates[0]))
    tries: list[Tried] = []
    for rate in sorted(rates) if node.epochs else []:
        trained = replace(node, learning_rate=rate)
        if start is None or tries:
            tries.append(trials.run(trained))
        elif better := trials.run_if_better(trained, start, errors):
            tries.append(better)
        else:
            target = start.score
            break
        if len(tries) > 1 and tries[-1].score < tries[-2].score:
            break
    if epochs != 0 and max(each.score for each in trials.tried) < ENOUGH:
        for tree in trees:
            trials.best_rate(tree, candidates.rates(tree), target)


def _try_families(trials: Trials, candidates: _Candidates) -> None:
    """Tries the first of each family at all rates, and the others at the best of these."""
    for first, *others in candidates.families:
        best = trials.best_rate(first, candidates.rates(first))
        if best.score >= ENOUGH:
            break
        for each in others:
            # The best rate of a tree says nothing about a single node without vectors.
            same = each.arity == first.arity or each.vector_size
            rates = candidates.rates(each)
            if same and best.settings.learning_rate is not None:
                rates = [best.settings.learning_rate]
            trials.best_rate(each, rates if trials.num_classes <= ONE_NODE else rates[:1])


def filled_in(
    examples: Examples, num_classes: int, settings: LabelTreeSettings
) -> LabelTreeSettings:
    """The settings, with all but the learning rate and the kind of tree filled in."""
    low, high = EPOCHS
    size, epochs = settings.vector_size, settings.epochs
    if settings.start == "naive_bayes":  # which needs neither vectors nor passes
        size, epochs = size or 0, epochs or 0
    if epochs is None:
        epochs = int(np.clip(-(-STEPS // max(len(examples), 1)), low, high))
    if size is None:
        size = 0 if examples.features.is_table else SIZE
    filled = replace(
        settings,
        arity=settings.arity or usual_arity(num_classes, settings.max_depth),
        vector_size=size,
        epochs=epochs,
    )
    return replace(filled, start=filled.begins)


def base_rate(examples: Examples, settings: LabelTreeSettings) -> float:
    """The learning rate at which a step corrects a decision by about its error."""
    # The mean square of a row times its weight, as its step is.
    size = examples.sum_of_squares / max(len(examples), 1)
    return rate_for(size, settings, examples.features.is_table)


def rate_for(
    size: float, settings: LabelTreeSettings, is_table: bool, streams: bool = False
) -> float:
    """The rate of :func:`base_rate` for rows whose mean square is known.

    Args:
        size: mean square of a row.
        settings: settings, which say what learns.
        is_table: True for dense rows.
        streams: True if little may be known of the rows, which may be almost 0 so far: the rate is
            then at most 1, so that the biases, too, make steps of the size of their error.
    """
    if settings.vector_size:  # the weights of a bag's words have at most length 1
        return float(VECTORS / max(size, 1.0))
    # With short rows, the bias learns most.
    size += 1 if streams else settings.bias and not is_table
    return float(1 / max(size, 1e-6)) if size else 1.0  # 1 if only the bias can learn


def may_be_direct(settings: LabelTreeSettings, num_classes: int, size: int) -> bool:
    """Whether :func:`choose` may take nodes that classify sparse rows without vectors of features.

    Vectors are learned poorly from few examples of each label.

    Args:
        settings: settings that were given.
        num_classes: number of labels.
        size: number of features.
    """
    if settings.vector_size is not None:
        return settings.vector_size == 0
    default = settings.start is None and not settings.of_reassignments
    return settings.start == "naive_bayes" or (default and num_classes * size <= DIRECT)


def _families(
    wanted: LabelTreeSettings, num_classes: int, examples: Examples, settings: LabelTreeSettings
) -> list[list[LabelTreeSettings]]:
    """Families of candidates; all rates are tried for the first one of each family."""
    assert settings.arity is not None
    huffman, features = replace(settings, tree="huffman"), examples.features
    is_node, bayes_alone = num_classes <= settings.arity, wanted.start == "naive_bayes"
    if settings.tree is not None or bayes_alone:
        candidates = [settings]
    elif is_node:
        candidates = [huffman]
    else:
        node = one_node(wanted, num_classes, examples, settings)
        candidates = [replace(settings, tree="learned"), node or huffman]
    is_direct = not wanted.start and may_be_direct(wanted, num_classes, features.size)
    if not bayes_alone and (features.is_table or not is_direct):
        return [candidates]
    direct = replace(settings, vector_size=0, start="clusters")
    if settings.tree is None:
        node = one_node(wanted, num_classes, examples, direct)
        direct = node or replace(direct, tree="huffman" if is_node else "clusters")
    families = [candidates] if wanted.vector_size == 0 else [candidates, [direct]]
    if bayes_alone or (direct.tree != "learned" and not (features.values < 0).any()):
        bayes = [replace(direct, start="naive_bayes", epochs=wanted.epochs or 0)]
        families = [bayes] if bayes_alone or wanted.epochs == 0 else [*families, bayes]
    return families


def one_node(
    wanted: LabelTreeSettings, num_classes: int, examples: Examples, settings: LabelTreeSettings
) -> LabelTreeSettings | None:
    """Settings of a single node, if it has more labels than a tree's nodes and trains in seconds.

    Without vectors, which would have to be learned first, fewer passes are enough; on dense rows,
    where it starts from a solution, it may have none.
    """
    features, epochs = examples.features, settings.epochs
    assert epochs is not None
    if wanted.arity is not None or num_classes <= usual_arity(num_classes, wanted.max_depth):
        return None
    node = replace(settings, tree="huffman", arity=num_classes)
    most = ONE_NODE
    if not settings.vector_size:
        work = products_of(examples) + SOFTMAX * len(examples)  # per pass and label
        solved = _is_solved(node, num_classes, examples)
        least = 0 if solved else 1 if features.is_table else FEWEST
        # On a table with few labels, it may have as much to learn as a tree.
        few = features.is_table and num_classes <= ONE_NODE
        usual = epochs if few else max(epochs // PASSES, EPOCHS[0])
        if wanted.epochs is None:
            epochs = int(np.clip(int(WORK / (num_classes * work)), least, usual))
        if not epochs:
            work = SOLVED * features.size * (features.size if features.size <= COLUMNS else 1)
        most = max(ONE_NODE, int(WORK / (max(epochs, 1) * work)))
    return replace(node, epochs=epochs) if num_classes <= most else None


def products_of(examples: Examples) -> float:
    """The multiplications of all examples by the weights of one label."""
    return examples.features.values.size / (DENSE if examples.features.is_table else 1)


def _is_solved(settings: LabelTreeSettings, num_classes: int, examples: Examples) -> bool:
    """Do these settings give a single node that starts from a solution? See :func:`.begin`."""
    assert settings.arity is not None
    dense = examples.features.is_table and not settings.vector_size
    return dense and settings.bias and settings.arity >= num_classes
