"""The modules of the paper's experiments: their counts of parameters, their shapes, their limits.

The counts are those of the paper's tables (Tanno et al., ICML 2019) where it gives them in full.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch
from forests import exactly
from torch import nn

from structnet.neural_tree import presets
from structnet.neural_tree.cost import count_flops, count_parameters
from structnet.neural_tree.likelihood import SquaredError
from structnet.neural_tree.primitives import Primitives
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.samples import Samples

DATA = {"sarcos": (21,), "mnist": (1, 28, 28), "cifar10": (3, 32, 32)}
MNIST = DATA["mnist"]
every_preset = pytest.mark.parametrize("name", presets.PRESETS)


def shape_of(name: str) -> tuple[int, ...]:
    return DATA[name.split("_")[0]]


def path_parameters(tree: NeuralTree) -> list[int]:
    own = np.array([tree.facts(v).parameters for v in range(len(tree.nodes))])
    return tree.topology.sums_above(own)[tree.topology.leaves].tolist()


# ---- counts


def test_linear_models() -> None:
    classifier = NeuralTree(presets.mlp(10).without(transformers=True), (784,))
    assert count_parameters(classifier) == 7_850
    image = NeuralTree(presets.mnist_a().without(transformers=True), MNIST)
    assert count_parameters(image) == 7_850
    assert count_parameters(nn.Linear(784, 10, bias=False)) == 7_840
    regression = NeuralTree(presets.sarcos().without(transformers=True), DATA["sarcos"])
    assert count_parameters(regression) == 22 * 7 == 154


@pytest.mark.parametrize(("layers", "count"), [(1, 7_431), (3, 139_015), (5, 270_599)])
def test_perceptrons_are_trees_of_one_leaf(layers: int, count: int) -> None:
    tree = NeuralTree(presets.sarcos(width=256), DATA["sarcos"], SquaredError())
    for _ in range(layers - 1):
        tree.deepen(0)
    assert count_parameters(tree) == count
    assert path_parameters(tree) == [count]


def test_a_soft_decision_tree() -> None:
    primitives = presets.sarcos(router_width=128).without(transformers=True)
    tree = NeuralTree(primitives, DATA["sarcos"], SquaredError())
    for leaf in range(9):  # 0, 1, 2, ...: breadth-first
        tree.split(leaf)
    router = 21 * 128 + 128 + 128 + 1
    assert count_parameters(tree) == 9 * router + 10 * 154 == 28_045
    assert sum(path_parameters(tree)) == sum(
        int(tree.topology.depth[leaf]) * router + 154 for leaf in tree.topology.leaves
    )


def test_the_tree_of_mnist_a() -> None:
    tree = NeuralTree(presets.mnist_a(), MNIST)
    tree.deepen(0)
    tree.deepen(0)
    assert tree.nodes[0].shape == (40, 2, 2)
    _, right = tree.split(0)
    tree.split(right)
    assert count_parameters(tree) == 100_596
    assert path_parameters(tree) == [90_053, 97_376, 97_376]


def test_the_tree_of_mnist_b() -> None:
    tree = NeuralTree(presets.mnist_b(), MNIST)
    tree.deepen(0)
    tree.deepen(0)
    for leaf in tree.split(0):
        tree.deepen(leaf)
    assert count_parameters(tree) == 76_703
    assert path_parameters(tree) == [60_653, 60_653]


# ---- shapes


SHAPES = {  # after 1, 2, ... transformers; an identity keeps the shape
    "sarcos": [(128,)],
    "mnist_a": [(40, 12, 12), (40, 8, 8), (40, 2, 2), (40, 2, 2)],
    "mnist_b": [(40, 13, 13), (40, 11, 11), (40, 4, 4), (40, 2, 2), (40, 2, 2)],
    "mnist_c": [(5, 12, 12), (5, 8, 8), (5, 2, 2), (5, 2, 2)],
    "cifar10_a": [(128, n, n) for n in (16, 8, 4, 2, 1, 1)],
    "cifar10_b": [(96, n, n) for n in (16, 8, 4, 2, 1, 1)],
    "cifar10_c": [(72, n, n) for n in (16, 8, 4, 2, 1, 1)],
}


@every_preset
def test_shapes_along_a_path(name: str) -> None:
    tree = NeuralTree(presets.PRESETS[name](), shape_of(name))
    for i, expected in enumerate(SHAPES[name]):
        if i:
            tree.deepen(0)
        assert tree.nodes[0].shape == expected


@every_preset
@torch.no_grad()
def test_deep_trees_of_every_preset_run(name: str) -> None:
    make, shape = presets.PRESETS[name], shape_of(name)
    tree = NeuralTree(make(), shape)
    x = torch.randn(3, *shape)
    for _ in range(8):
        router, *_ = tree.new_split(0)  # at every size of the map
        assert router(tree.nodes[0].transformers(x)).shape == (3, 1)
        tree.deepen(0)
        assert tree.output(x).shape == (3, tree.num_outputs)
    _, right = tree.split(0)
    tree.split(right)
    assert tree.num_transformers(right) == 9
    classes = tree.num_outputs
    torch.testing.assert_close(tree.output(x).exp().sum(1), torch.ones(3))
    for path in ("greedy", "stochastic", "most_likely", "least_likely"):
        assert tree.output(x, path).shape == (3, classes)
    assert tree.output(x[:0]).shape == tree.output(x[:0], "greedy").shape == (0, classes)
    tree.eval()
    alone = torch.cat([tree.output(each[None]) for each in x])
    torch.testing.assert_close(tree.output(x), alone)
    again = NeuralTree.from_config(tree.config(), make())
    again.load_state_dict(tree.state_dict())
    assert torch.equal(again.eval().output(x), tree.output(x))


@every_preset
def test_every_parameter_of_a_preset_learns(name: str) -> None:
    shape = shape_of(name)
    tree = NeuralTree(presets.PRESETS[name](), shape)
    tree.deepen(tree.split(0)[0])
    n = 8
    generator = torch.Generator().manual_seed(0)
    targets = torch.randint(tree.num_outputs, (n,), generator=generator)
    tree.loss(Samples(torch.randn(n, *shape, generator=generator), targets)).backward()
    for parameter_name, parameter in tree.named_parameters():
        assert parameter.grad.isfinite().all(), parameter_name
        assert parameter.grad.abs().max() > 0, parameter_name


def test_images_may_be_taken_as_vectors() -> None:
    tree = NeuralTree(presets.mlp(4, width=6, router_width=5), (2, 3, 3))
    tree.deepen(tree.split(0)[1])
    assert tree.output(torch.randn(2, 2, 3, 3)).shape == (2, 4)
    assert tree.nodes[0].shape == (6,)
    assert count_parameters(tree.nodes[0].router) == 6 * 5 + 5 + 5 + 1


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("name", ["mnist_a", "mnist_b", "cifar10_a", "cifar10_c"])
def test_images_smaller_than_kernels(name: str, size: int) -> None:
    channels = shape_of(name)[0]
    tree = NeuralTree(presets.PRESETS[name](3), (channels, size, size))
    tree.deepen(tree.split(0)[0])
    assert tree.output(torch.randn(2, channels, size, size)).shape == (2, 3)


def test_maps_need_not_be_square() -> None:
    tree = NeuralTree(presets.mnist_b(), (1, 20, 6))
    for _ in range(4):
        tree.deepen(0)
    tree.split(0)
    assert tree.output(torch.randn(2, 1, 20, 6)).shape == (2, 10)


# ---- what is refused


@pytest.mark.parametrize(
    ("primitives", "shape", "start"),
    [
        (presets.mnist_a(), (784,), "the transformer does not run on samples of shape [784]: "),
        (
            presets.mnist_a().without(transformers=True),
            (784,),
            "the router does not run on samples of shape [784]: ",
        ),
        (presets.cifar10_a(), (32, 32), "the transformer does not run on samples of shape [32, 32"),
        (presets.sarcos(), (), "the transformer does not run on samples of shape []: "),
    ],
)
def test_data_of_another_kind(primitives: Primitives, shape: tuple[int, ...], start: str) -> None:
    with pytest.raises(ValueError) as caught:
        NeuralTree(primitives, shape).split(0)
    assert str(caught.value).startswith(start)
    assert "\n" not in str(caught.value)


def test_a_large_kernel_on_a_small_map() -> None:
    def convolution(shape: tuple[int, ...]) -> nn.Module:
        return nn.Sequential(nn.Conv2d(shape[0], 4, 9), nn.AdaptiveAvgPool2d(1), nn.Flatten())

    def make(part: str) -> Primitives:
        linear = presets.mlp(3)
        parts = {"router": linear.router, "transformer": None, "solver": linear.solver}
        return Primitives(**{**parts, part: convolution})

    tree = NeuralTree(make("transformer"), (1, 5, 5))
    assert tree.nodes[0].shape == (1, 5, 5)  # an identity
    assert isinstance(tree.nodes[0].transformers[0], nn.Identity)
    message = (
        "the {} for samples of shape [1, 5, 5] does not run on them, as their map is too small; "
        "expected one that does"
    )
    with pytest.raises(ValueError, match=exactly(message.format("router"))):
        NeuralTree(make("router"), (1, 5, 5)).split(0)
    with pytest.raises(ValueError, match=exactly(message.format("solver"))):
        NeuralTree(make("solver"), (1, 5, 5))


def test_a_wrong_module_is_not_taken_for_a_small_map() -> None:
    primitives = Primitives(None, lambda shape: nn.Conv2d(7, 4, 3), presets.mlp(3).solver)
    with pytest.raises(ValueError, match=r"^the transformer does not run on samples of shape \[1,"):
        NeuralTree(primitives, (1, 5, 5))


def test_a_made_module_runs_once() -> None:
    runs = []

    class Counted(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            runs.append(x.shape)
            return super().forward(x)

    shape, after = (3,), []
    primitives = Primitives(*(lambda shape, n=n: Counted(*shape, n) for n in (1, 5, 2)))
    after.append(primitives.make_transformer(shape, 0)[1])
    after.append(primitives.make_solver(shape)[1])
    primitives.make_router(shape)
    assert runs == [(2, 3)] * 3
    assert after == [(5,), 2]


# ---- FLOPs


def test_flops_by_hand() -> None:
    assert count_flops(nn.Linear(784, 10), torch.zeros(1, 784)) == 2 * 7_840
    convolution = nn.Conv2d(3, 5, 3)
    assert count_flops(convolution, torch.zeros(2, 3, 8, 8)) == 2 * 2 * (3 * 9 * 5) * 36
    assert count_flops(nn.ReLU(), torch.zeros(2, 3)) == 0


def test_the_cost_of_a_module_that_gives_a_view_of_a_weight() -> None:
    class Constant(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.product, self.bias = nn.Linear(4, 2), nn.Parameter(torch.zeros(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.product(x)
            return self.bias.expand(len(x), 3)

    module = Constant()
    assert count_flops(module, torch.zeros(5, 4)) == 2 * 5 * 4 * 2
    assert module.bias.grad is None and module.training


@every_preset
def test_flops_of_a_tree_are_those_of_its_nodes(name: str) -> None:
    shape = shape_of(name)
    tree = NeuralTree(presets.PRESETS[name](), shape)
    _, right = tree.split(0)
    tree.deepen(right)
    tree.split(right)
    flops = sum(tree.flops(v) for v in range(len(tree.nodes)))
    assert flops == count_flops(tree, torch.zeros(1, *shape))
    assert 2 * flops == count_flops(tree, torch.zeros(2, *shape))
    assert sum(tree.facts(v).parameters for v in range(5)) == count_parameters(tree)


def test_counting_leaves_no_trace() -> None:
    tree = NeuralTree(presets.sarcos(), (21,))
    state = torch.get_rng_state()
    assert tree.flops(0) > 0
    assert torch.equal(torch.get_rng_state(), state)
    assert all(module.training for module in tree.modules())
    assert all(parameter.grad is None for parameter in tree.parameters())


@pytest.mark.parametrize("name", ["cifar10_a", "cifar10_b", "cifar10_c"])
def test_batch_normalisation_follows_every_convolution(name: str) -> None:
    primitives = presets.restored(
        presets.described(partial(presets.PRESETS[name], batch_norm=True))
    )(10)
    for make in (primitives.router, primitives.transformer):
        modules = list(make((3, 32, 32)).modules())
        after = [type(b) for a, b in pairwise(modules) if isinstance(a, nn.Conv2d)]
        assert after == [nn.BatchNorm2d] * 2
    tree = NeuralTree(primitives, (3, 8, 8))
    tree.split(0)
    plain = NeuralTree(presets.PRESETS[name](10), (3, 8, 8))
    plain.split(0)
    width = tree.nodes[0].shape[0]
    assert count_parameters(tree) == count_parameters(plain) + 2 * 2 * 2 * width
