"""The tree with which a training begins."""

from __future__ import annotations

from typing import Any

from structnet.estimators.few_rows import Solve, solved
from structnet.label_tree.codes import LabelCodes
from structnet.label_tree.examples import Examples, label_means, random_axes
from structnet.label_tree.naive_bayes import check_rows, start_as_naive_bayes
from structnet.label_tree.settings import LabelTreeSettings
from structnet.label_tree.shapes import clustered, usual_arity
from structnet.label_tree.tree import LabelTree


def begin(
    examples: Examples,
    num_classes: int,
    settings: LabelTreeSettings,
    codes: LabelCodes | None = None,
    solve: Solve | None = solved,
) -> LabelTree:
    """A label tree according to the settings, before the first step.

    It has learned nothing yet, except that a single node with biases that classifies dense rows
    starts as a solution, by default :func:`.solved`, and that nodes are naive Bayes if the settings
    say so (:func:`.start_as_naive_bayes`) and there are no epochs.

    Args:
        examples: examples to learn from.
        num_classes: number of labels.
        settings: settings; see :func:`.choose` for those that are None.
        codes: user's own tree, used instead of that of the settings.
        solve: function that gives the solution; None to start from nothing, if examples are few.

    Raises:
        ValueError: no epochs and nothing learned, or naive Bayes of dense or negative numbers.
    """
    counts, size = examples.counts(num_classes), settings.vector_size or None
    arity = settings.arity or usual_arity(num_classes, settings.max_depth)
    shape: Any = "huffman" if settings.tree == "learned" else settings.tree or "huffman"
    if codes is not None:
        shape = codes
    elif shape == "clusters" or (settings.tree == "learned" and settings.start == "clusters"):
        means = label_means(examples, num_classes, random_axes(examples.features))
        shape = clustered(means, arity, settings.max_depth, settings.seed)
    tree = LabelTree(
        examples.features.size,
        num_classes,
        size,
        seed=settings.seed,
        arity=arity,
        tree=shape,
        counts=counts,
        **settings.rules,
    ).float()  # as the kernels, whatever torch's default is
    one = tree.codes.num_nodes == 1 and size is None and settings.bias
    if settings.start == "naive_bayes":
        check_rows(examples.features)
        if solve and not settings.epochs:
            start_as_naive_bayes(tree, examples, settings.seed, settings.bias)
    elif one and examples.features.is_table and solve:
        arrays, slots = tree.arrays(examples.features), tree.codes.slots
        solution = solve(examples.checked, num_classes, settings.seed)
        arrays.weight[0, slots], arrays.bias[0, slots] = solution
        tree.softmax.take_bias(arrays.bias)
    elif settings.epochs == 0:
        reasons = {
            "vectors of the features": size is not None,
            "sparse rows": not examples.features.is_table,
            "bias=False": not settings.bias,
        }
        what = next((reason for reason, holds in reasons.items() if holds), "a tree of nodes")
        raise ValueError(
            "The 'epochs' parameter must be 1 or more except for a single node of all labels with "
            "biases on a dense table without vectors, or for naive Bayes of numbers that are not "
            f"negative, which start as a solution. Got 0 with {what}."
        )
    return tree
