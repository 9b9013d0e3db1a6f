"""What neural trees refuse, and in which words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from forests import exactly
from neural_trees import ONE_LEAF, draw, tree_of
from torch import Tensor, nn
from tree_shapes import LEFT_LEAF, small_primitives

from structnet.neural_tree.likelihood import GaussianMixture
from structnet.neural_tree.primitives import Primitives
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.samples import Samples


def one(router: object = None, transformer: object = None, solver: object = None) -> Primitives:
    """Primitives that are right but for one function."""
    return Primitives(
        router or (lambda shape: nn.Linear(*shape, 1)),
        transformer,
        solver or (lambda shape: nn.Linear(*shape, 2)),
    )


class Apply(nn.Module):
    """A module of a function."""

    def __init__(self, function: Callable[[Tensor], object]):
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> object:
        return self.function(x)


@pytest.mark.parametrize(
    ("primitives", "error", "message"),
    [
        (
            one(router=lambda shape: nn.Linear(*shape, 2)),
            ValueError,
            "the router for samples of shape [3] gives [2] for each; expected one logit each",
        ),
        (
            one(router=lambda shape: nn.Sequential(nn.Linear(*shape, 1), nn.Sigmoid())),
            ValueError,
            "the router ends in Sigmoid; expected a logit, to which the tree applies a sigmoid "
            "itself",
        ),
        (
            one(router=lambda shape: 7),
            TypeError,
            "the function that makes a router must return an nn.Module. Got int for samples of "
            "shape [3].",
        ),
        (
            one(transformer=lambda shape: None),
            TypeError,
            "the function that makes a transformer must return an nn.Module. Got NoneType for "
            "samples of shape [3].",
        ),
        (
            one(solver=lambda shape: Apply(lambda x: x.sum(1))),
            ValueError,
            "the solver for samples of shape [3] gives [] for each; expected a vector each",
        ),
        (
            one(transformer=lambda shape: nn.Linear(4, 4)),
            ValueError,
            "the transformer does not run on samples of shape [3]: mat1 and mat2 shapes cannot be "
            "multiplied (2x3 and 4x4)",
        ),
        (
            one(transformer=lambda shape: nn.LSTM(3, 3)),
            TypeError,
            "LSTM must give a tensor. Got tuple for samples of shape [3].",
        ),
        (
            one(router=lambda shape: Apply(torch.mean)),
            ValueError,
            "the router does not run on samples of shape [3]: its output for 2 samples has the "
            "shape []; expected the first size to be 2",
        ),
        (
            one(transformer=lambda shape: nn.Flatten(0)),
            ValueError,
            "the transformer does not run on samples of shape [3]: its output for 2 samples has "
            "the shape [6]; expected the first size to be 2",
        ),
    ],
)
def test_functions_that_make_no_fitting_module(
    primitives: Primitives, error: type, message: str
) -> None:
    with pytest.raises(error, match=exactly(message)):
        NeuralTree(primitives, (3,)).split(0)


def test_a_name_is_no_primitives() -> None:
    message = "the primitives must be Primitives, as made by presets.mlp. Got 'mlp'."
    with pytest.raises(TypeError, match=exactly(message)):
        NeuralTree("mlp", (4,))


@pytest.mark.parametrize("shape", [(), (3,), (5, 4), (5, 3, 1), (5, 1)])
def test_samples_of_another_shape(shape: tuple[int, ...]) -> None:
    tree = tree_of(shape=LEFT_LEAF)
    message = exactly(f"x must be [n, 3], samples of the tree's shape. Got {list(shape)}.")
    for path in ("multi", *ONE_LEAF):
        with pytest.raises(ValueError, match=message):
            tree.output(torch.zeros(shape).double(), path)


def test_unknown_paths() -> None:
    tree, x = tree_of(), draw("categorical", 2).x
    names = ["multi", *ONE_LEAF]
    message = exactly(f"The 'path' parameter must be one of {names}. Got 'best' instead.")
    with pytest.raises(ValueError, match=message):
        tree.output(x, "best")
    for path in ("best", "multi"):  # of all leaves there is no one
        message = exactly(f"The 'path' parameter must be one of {names[1:]}. Got {path!r} instead.")
        with pytest.raises(ValueError, match=message):
            tree.apply_path(x, path)


@pytest.mark.parametrize(
    ("name", "targets", "message"),
    [
        ("categorical", torch.zeros(3), "targets must be classes [3], int64. Got float32 [3]."),
        (
            "categorical",
            torch.zeros(3, 1, dtype=torch.int64),
            "targets must be classes [3], int64. Got int64 [3, 1].",
        ),
        (
            "categorical",
            torch.tensor([0, 1, 9]),
            "targets must be classes from 0 to 3; example 2 of the batch has 9",
        ),
        (
            "categorical",
            torch.tensor([0, -1, 1]),
            "targets must be classes from 0 to 3; example 1 of the batch has -1",
        ),
        ("squared error", torch.zeros(3), "targets must be numbers [3, 2]. Got [3]."),
        ("squared error", torch.zeros(3, 1), "targets must be numbers [3, 2]. Got [3, 1]."),
        ("gaussian mixture", torch.zeros(3), "targets must be numbers [3, 2]. Got [3]."),
        ("gaussian mixture", torch.zeros(3, 4), "targets must be numbers [3, 2]. Got [3, 4]."),
    ],
)
def test_targets_that_do_not_fit_the_outputs(name: str, targets: Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=exactly(message)):
        tree_of(name).loss(Samples(draw(name, 3).x, targets))


def test_a_mixture_of_gaussians_needs_pairs_of_outputs() -> None:
    tree = NeuralTree(small_primitives(3), (3,), GaussianMixture())
    message = (
        "solvers must give a mean and a log standard deviation for each column. Got 3 outputs."
    )
    with pytest.raises(ValueError, match=exactly(message)):
        tree.loss(Samples(torch.zeros(2, 3), torch.zeros(2, 1)))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            (torch.zeros(3, 2), torch.zeros(2)),
            "there are 2 targets for 3 samples; expected one each",
        ),
        (
            (torch.zeros(3, 2), torch.zeros(3), torch.zeros(4)),
            "there are 4 weights for 3 samples; expected one each",
        ),
        (
            (torch.zeros(3, 2), torch.zeros(3), torch.zeros(3, 1)),
            "weights must be [3], one each. Got [3, 1].",
        ),
    ],
)
def test_parts_of_samples_that_do_not_fit(parts: tuple[Tensor, ...], message: str) -> None:
    with pytest.raises(ValueError, match=exactly(message)):
        Samples(*parts)
