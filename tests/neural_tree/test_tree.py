"""The neural tree against the paper written as a recursion, in value and gradient."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest
import torch
from forests import exactly
from reference import neural_tree as reference
from torch import Tensor, nn
from tree_shapes import LEFT_LEAF, SMALL, grown, scaled, small_primitives

from structnet.neural_tree.likelihood import Categorical, GaussianMixture, SquaredError
from structnet.neural_tree.primitives import Primitives, shape_after
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.path_log_prob import leaf_log_prob
from structnet.routing.samples import Samples
from structnet.routing.topology import Topology

LIKELIHOODS = {
    "categorical": (Categorical(), 4, None),
    "squared error": (SquaredError(), 2, 2),
    "gaussian mixture": (GaussianMixture(), 4, 2),
}
ONE_LEAF = ("greedy", "stochastic", "most_likely", "least_likely")
every_likelihood = pytest.mark.parametrize("name", LIKELIHOODS)
every_small_shape = pytest.mark.parametrize("shape", SMALL, ids=str)


def tree_of(
    name: str = "categorical",
    shape: tuple = ((LEFT_LEAF, ()), LEFT_LEAF),
    seed: int = 0,
    transformers: bool = True,
) -> NeuralTree:
    likelihood, outputs, _ = LIKELIHOODS[name]
    primitives = small_primitives(outputs).without(transformers=not transformers)
    torch.manual_seed(seed)
    return grown(shape, random.Random(seed), primitives, likelihood)


def draw(name: str, n: int, seed: int = 1) -> Samples:
    generator = torch.Generator().manual_seed(seed)
    _, outputs, columns = LIKELIHOODS[name]
    x = torch.randn(n, 3, dtype=torch.float64, generator=generator)
    if columns is None:
        return Samples(x, torch.randint(outputs, (n,), generator=generator))
    return Samples(x, torch.randn(n, columns, dtype=torch.float64, generator=generator))


def close(ours: Tensor, theirs: Tensor, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


def routers(tree: NeuralTree) -> list[int]:
    return [v for v, each in enumerate(tree.topology.to_lists()) if each]


def set_logits(tree: NeuralTree, logit: Callable[[int], float]) -> NeuralTree:
    """Routers that give every sample the same logit."""
    with torch.no_grad():
        for v in routers(tree):
            tree.nodes[v].router.weight.zero_()
            tree.nodes[v].router.bias.fill_(logit(v))
    return tree


# ---- values


@every_small_shape
@every_likelihood
@torch.no_grad()
def test_values_are_those_of_the_paper(name: str, shape: tuple) -> None:
    for seed in range(2):
        tree, batch = tree_of(name, shape, seed), draw(name, 2)
        leaf_prob = tree.leaf_log_prob(batch.x).exp()
        close(leaf_prob.sum(1), torch.ones(2).double(), 1e-12)
        leaves, losses, outputs = tree.topology.leaves, [], []
        for x, y, prob in zip(batch.x, batch.targets, leaf_prob, strict=True):
            pi = {leaf.node: leaf.pi for leaf in reference.leaves(tree, x)}
            close(prob, torch.stack([pi[leaf] for leaf in leaves]), 1e-12)
            losses.append(reference.loss(tree, x, y))
            outputs.append(reference.mixture(tree, x))
        close(tree.loss(batch), torch.stack(losses).mean())
        output = tree.output(batch.x)
        close(output.exp() if name == "categorical" else output, torch.stack(outputs))


def test_a_leaf_beside_a_split_is_not_confused_with_it() -> None:
    tree = set_logits(tree_of("squared error", LEFT_LEAF), lambda v: [1.0, 0.0, -2.0][v])
    x = draw("squared error", 1).x
    right = 1 - torch.tensor(1.0).double().sigmoid()
    far = torch.tensor(2.0).double().sigmoid()
    expected = torch.stack([1 - right, right * (1 - far), right * far])
    assert tree.topology.leaves.tolist() == [1, 3, 4]
    close(tree.leaf_log_prob(x).exp()[0], expected, 1e-12)


@every_likelihood
def test_gradients_are_those_of_the_paper(name: str) -> None:
    tree, batch = tree_of(name), draw(name, 4)
    parameters = list(tree.parameters())
    found = torch.autograd.grad(tree.loss(batch), parameters)
    pairs = zip(batch.x, batch.targets, strict=True)
    expected = torch.stack([reference.loss(tree, x, y) for x, y in pairs]).mean()
    for ours, theirs in zip(found, torch.autograd.grad(expected, parameters), strict=True):
        close(ours, theirs)


class LossOf(nn.Module):
    def __init__(self, tree: NeuralTree):
        super().__init__()
        self.tree = tree

    def forward(self, x: Tensor, targets: Tensor) -> Tensor:
        return self.tree.loss(Samples(x, targets))


@every_likelihood
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    model, batch = LossOf(tree_of(name, LEFT_LEAF)), draw(name, 3)
    names = [each for each, _ in model.named_parameters()]

    def loss(x: Tensor, *values: Tensor) -> Tensor:
        weights = dict(zip(names, values, strict=True))
        return torch.func.functional_call(model, weights, (x, batch.targets))

    values = [value.detach().clone().requires_grad_() for value in model.parameters()]
    assert torch.autograd.gradcheck(loss, (batch.x.clone().requires_grad_(), *values))


@pytest.mark.parametrize("name", ["categorical", "gaussian mixture"])
def test_a_leaf_learns_by_its_responsibility(name: str) -> None:
    """``d loss / d log p_l(y|x) = -p(l|x, y)``; a router gets what its sides differ by."""
    tree, batch = tree_of(name), draw(name, 5)
    logits: dict[int, Tensor] = {}
    hooks = [
        tree.nodes[v].router.register_forward_hook(lambda *args, v=v: logits.update({v: args[2]}))
        for v in routers(tree)
    ]
    log_prob, outputs = tree(batch.x)
    for hook in hooks:
        hook.remove()
    certain = torch.zeros_like(log_prob)
    density = tree.likelihood.term(certain, outputs, batch.targets)  # log p_l(y|x)
    total = tree.likelihood.join(log_prob + density)
    tree_total = tree.likelihood.join(tree.likelihood.term(log_prob, outputs, batch.targets))
    close(total, tree_total, 1e-12)
    loss = tree.likelihood.losses(total, batch.targets).sum()
    by_density, *by_logit = torch.autograd.grad(loss, [density, *logits.values()])
    for i, (x, y) in enumerate(zip(batch.x, batch.targets, strict=True)):
        r = reference.responsibilities(tree, x, y)
        close(by_density[i], -torch.stack([r[leaf] for leaf in tree.topology.leaves]))
        for v, gradient in zip(logits, by_logit, strict=True):
            here, left = (
                sum(r[leaf] for leaf in r if node in tree.topology.path(leaf))
                for node in (v, tree.topology.children_of(v)[0])
            )
            close(gradient[i, 0], logits[v][i, 0].sigmoid() * here - left)


@every_likelihood
def test_weights_count_samples(name: str) -> None:
    tree, batch = tree_of(name), draw(name, 4)
    weights = torch.tensor([2.0, 0.0, 1.0, 1.0]).double()
    weighted = Samples(batch.x, batch.targets, weights)
    repeated = batch[torch.tensor([0, 0, 2, 3])]
    close(tree.loss(weighted), tree.loss(repeated))


# ---- what must not change anything


@every_small_shape
@torch.no_grad()
def test_saturated_routers_leave_one_path(shape: tuple) -> None:
    for name in LIKELIHOODS:
        tree, batch = tree_of(name, shape), draw(name, 20)
        for v in routers(tree):  # logits of +-1000, by the side of a plane a sample lies on
            tree.nodes[v].router = nn.Sequential(tree.nodes[v].router, Saturated())
        multi = tree.output(batch.x)
        for path in ("greedy", "stochastic", "most_likely"):
            close(tree.output(batch.x, path), multi, 1e-12)
        assert torch.isfinite(tree.loss(batch))


class Saturated(nn.Module):
    def forward(self, z: Tensor) -> Tensor:
        return torch.where(z >= 0, 1000.0, -1000.0)


@pytest.mark.parametrize("shape", SMALL[-42:], ids=str)
@torch.no_grad()
def test_a_negated_router_with_its_children_swapped(shape: tuple) -> None:
    for name in LIKELIHOODS:
        tree, batch = tree_of(name, shape), draw(name, 5)
        before = tree.loss(batch), *(tree.output(batch.x, p) for p in ("multi", "greedy"))
        leaves = tree.apply_path(batch.x)
        children = tree.topology.to_lists()
        for v in routers(tree)[::2]:
            children[v] = children[v][::-1]
            with torch.no_grad():
                for parameter in tree.nodes[v].router.parameters():
                    parameter.neg_()
        assert children != tree.topology.to_lists()
        tree.topology = Topology(children)
        after = tree.loss(batch), *(tree.output(batch.x, p) for p in ("multi", "greedy"))
        for now, then in zip(after, before, strict=True):
            close(now, then, 1e-12)
        assert torch.equal(tree.apply_path(batch.x), leaves)


@every_likelihood
@pytest.mark.parametrize("path", ["multi", "greedy", "most_likely", "least_likely"])
@torch.no_grad()
def test_a_batch_is_its_samples_one_by_one(name: str, path: str) -> None:
    tree, batch = tree_of(name).float(), draw(name, 257)
    x = batch.x.float()
    together = tree.output(x, path)
    torch.testing.assert_close(together, torch.cat([tree.output(each[None], path) for each in x]))
    order = torch.randperm(len(x))
    torch.testing.assert_close(tree.output(x[order], path), together[order])


# ---- extremes


@every_likelihood
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("side", [0, 1])
def test_all_is_finite_in_a_deep_tree_of_saturated_routers(
    name: str, dtype: torch.dtype, side: int
) -> None:
    likelihood, outputs, _ = LIKELIHOODS[name]
    tree, leaf = NeuralTree(small_primitives(outputs), (3,), likelihood), 0
    for _ in range(200):
        leaf = tree.split(leaf)[side]
    assert tree.topology.depth.max() == 200
    set_logits(scaled(tree), lambda v: 1000.0 if v % 3 else -1000.0).to(dtype)
    batch = draw(name, 7)
    targets = batch.targets.to(dtype) if batch.targets.is_floating_point() else batch.targets
    batch = Samples(batch.x.to(dtype), targets)
    loss = tree.loss(batch)
    loss.backward()
    assert torch.isfinite(loss)
    for parameter_name, parameter in tree.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.isfinite().all(), parameter_name
    for path in ("multi", *ONE_LEAF):
        assert tree.output(batch.x, path).isfinite().all(), path
    close(tree.output(batch.x), tree.output(batch.x, "greedy"), 1e-5)


@every_likelihood
@pytest.mark.parametrize("n", [0, 1, 2, 257])
def test_batches_of_any_size(name: str, n: int) -> None:
    tree, batch = tree_of(name), draw(name, n)
    _, outputs, columns = LIKELIHOODS[name]
    for path in ("multi", *ONE_LEAF):
        assert tree.output(batch.x, path).shape == (n, columns or outputs)
    for path in ONE_LEAF:
        leaves = tree.apply_path(batch.x, path)
        assert leaves.shape == (n,)
        assert leaves.dtype == torch.int64
    assert tree.leaf_log_prob(batch.x).shape == (n, tree.num_leaves)
    assert tree.predict(batch).shape == batch.targets.shape
    loss = tree.loss(batch)
    assert loss.shape == ()
    assert loss.isfinite() if n else loss.isnan()  # as any mean of nothing
    loss.backward()


@pytest.mark.parametrize("classes", [2, 10, 37])
def test_any_number_of_classes(classes: int) -> None:
    tree = grown(LEFT_LEAF, random.Random(0), small_primitives(classes))
    x, targets = draw("categorical", classes).x, torch.arange(classes)
    output = tree.output(x)
    close(output.exp().sum(1), torch.ones(classes).double(), 1e-12)
    expected = torch.stack([reference.mixture(tree, each) for each in x])
    close(output.exp(), expected)
    close(tree.loss(Samples(x, targets)), -expected.diagonal().log().mean())
    assert torch.equal(tree.predict(Samples(x, targets)), expected.argmax(1))


def test_a_root_alone() -> None:
    for transformers in (True, False):
        tree, batch = tree_of(shape=(), transformers=transformers), draw("categorical", 5)
        features = tree.nodes[0].transformers(batch.x)
        expected = tree.nodes[0].solver(features).log_softmax(1)
        for path in ("multi", *ONE_LEAF):
            close(tree.output(batch.x, path), expected, 1e-12)
        assert tree.apply_path(batch.x).tolist() == [0] * 5


# ---- one path


def rows_seen(tree: NeuralTree) -> dict[nn.Module, list[int]]:
    """Fills with the numbers of rows of each module's calls."""
    seen: dict[nn.Module, list[int]] = {}
    for node in tree.nodes:
        for module in (*node.transformers, node.router, node.solver):
            if module is not None:
                seen[module] = []
                module.register_forward_hook(
                    lambda module, inputs, output: seen[module].append(len(inputs[0]))
                )
    return seen


@pytest.mark.parametrize("shape", SMALL[-10:], ids=str)
def test_the_greedy_path_computes_nothing_for_others(shape: tuple) -> None:
    tree, x = tree_of(shape=shape), draw("categorical", 30).x
    paths = [reference.greedy(tree, each) for each in x]
    visits = [sum(v in path for path in paths) for v in range(len(tree.nodes))]
    seen = rows_seen(tree)
    assert tree.apply_path(x).tolist() == [path[-1] for path in paths]
    for v, node in enumerate(tree.nodes):
        for module in (*node.transformers, node.solver if node.router is None else node.router):
            assert seen[module] == [visits[v]] * (visits[v] > 0)  # one call, or none


def test_nobody_comes_to_a_closed_side() -> None:
    tree = set_logits(tree_of(shape=(LEFT_LEAF, LEFT_LEAF)), lambda v: 5.0)
    seen = rows_seen(tree)
    leaf = int(tree.apply_path(draw("categorical", 9).x)[0])
    for v in range(len(tree.nodes)):
        own = {id(module) for module in tree.nodes[v].modules()}
        calls = [seen[module] for module in seen if id(module) in own]
        assert calls == [[9] if v in tree.topology.path(leaf) else []] * len(calls)


def test_the_multi_path_runs_each_module_once_on_all() -> None:
    tree = tree_of()
    seen = rows_seen(tree)
    tree.output(draw("categorical", 9).x)
    assert list(seen.values()) == [[9]] * len(seen)


def test_one_half_goes_left() -> None:
    tree = set_logits(tree_of(shape=LEFT_LEAF), lambda v: 0.0)
    assert tree.apply_path(draw("categorical", 4).x).tolist() == [1] * 4


def test_single_paths_predict_as_their_leaf_alone() -> None:
    for name in LIKELIHOODS:
        tree, batch = tree_of(name), draw(name, 20)
        for path in ("greedy", "most_likely", "least_likely"):
            output, nodes = tree.output(batch.x, path), tree.apply_path(batch.x, path)
            for x, leaf, found in zip(batch.x, nodes, output, strict=True):
                [own] = [each for each in reference.leaves(tree, x) if each.node == leaf]
                expected = reference.prediction(tree, own.output)
                close(found.exp() if name == "categorical" else found, expected)


@every_small_shape
@torch.no_grad()
def test_likeliest_and_least_likely_leaves(shape: tuple) -> None:
    tree, x = tree_of(shape=shape), draw("categorical", 20).x
    probs = [{leaf.node: leaf.pi.item() for leaf in reference.leaves(tree, each)} for each in x]
    assert tree.apply_path(x, "most_likely").tolist() == [max(p, key=p.get) for p in probs]
    assert tree.apply_path(x, "least_likely").tolist() == [min(p, key=p.get) for p in probs]
    leaves, log_prob = torch.from_numpy(tree.topology.leaves), tree.leaf_log_prob(x)
    assert torch.equal(tree.apply_path(x, "most_likely"), leaves[log_prob.argmax(1)])
    assert torch.equal(tree.apply_path(x, "least_likely"), leaves[log_prob.argmin(1)])


def test_the_likeliest_leaf_may_lie_off_the_greedy_path() -> None:
    tree = set_logits(tree_of(shape=((((), ()), ((), ())), ())), lambda v: 0.1 if v == 0 else 0.0)
    x = draw("categorical", 2).x
    assert tree.apply_path(x, "most_likely").tolist() == [tree.topology.children_of(0)[1]] * 2
    assert tree.topology.depth[tree.apply_path(x)].tolist() == [3, 3]


def test_stochastic_paths_have_the_probabilities_of_the_leaves() -> None:
    tree, n = tree_of(), 20_000
    x = draw("categorical", 3).x
    tree.nodes[0].router.weight.data /= 3
    generator = torch.Generator().manual_seed(0)
    for each in x:
        leaves = tree.apply_path(each.expand(n, 3), "stochastic", generator)
        counts = torch.bincount(leaves, minlength=len(tree.nodes))[tree.topology.leaves]
        prob = tree.leaf_log_prob(each[None]).exp()[0]
        spread = (n * prob * (1 - prob)).sqrt()
        assert ((counts - n * prob).abs() <= 4 * spread + 1).all()
        assert (counts > 0).sum() > 1


def test_stochastic_paths_follow_their_generator() -> None:
    tree = set_logits(tree_of(), lambda v: 0.3)
    x = draw("categorical", 50).x

    def leaves(seed: int) -> list[int]:
        return tree.apply_path(x, "stochastic", torch.Generator().manual_seed(seed)).tolist()

    state = torch.get_rng_state()
    assert leaves(1) == leaves(1)
    assert leaves(1) != leaves(2)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(3)
    first = tree.apply_path(x, "stochastic")
    torch.manual_seed(3)
    assert torch.equal(tree.apply_path(x, "stochastic"), first)


def test_order_of_rows_is_kept() -> None:
    tree, x = tree_of("squared error"), draw("squared error", 60).x
    leaves, outputs = tree.follow(x, lambda logit: logit >= 0)
    assert len(set(leaves.tolist())) > 2
    for each, leaf, output in zip(x, leaves, outputs, strict=True):
        assert int(leaf) == reference.greedy(tree, each)[-1]
        [own] = [found for found in reference.leaves(tree, each) if found.node == leaf]
        close(output, own.output)


def test_inputs_are_left_untouched() -> None:
    tree, batch = tree_of(), draw("categorical", 5)
    before = batch.x.clone(), batch.targets.clone()
    tree.loss(batch).backward()
    for path in ("multi", *ONE_LEAF):
        tree.output(batch.x, path)
    assert torch.equal(batch.x, before[0])
    assert torch.equal(batch.targets, before[1])


# ---- structure


@every_small_shape
@torch.no_grad()
def test_graph_follows_the_schema(shape: tuple) -> None:
    tree = tree_of(shape=shape, seed=2)
    graph, topology = tree.graph, tree.topology
    assert Topology.from_graph(graph).to_lists() == topology.to_lists()
    leaf, router = topology.leaves.tolist(), routers(tree)
    assert [graph.ndata["token"][v] for v in leaf] == list(range(len(leaf)))
    assert [graph.ndata["type"][v] for v in router] == list(range(len(router)))
    assert (graph.ndata["type"][leaf] == -1).all()
    assert (graph.ndata["token"][router] == -1).all()
    x = draw("categorical", 4).x
    branches = torch.zeros(4, len(tree.nodes)).double()
    for v, features in tree.features(x):
        if v in router:
            left, right = topology.children_of(v)
            logit = tree.nodes[v].logit(features)
            branches[:, left] = logit.sigmoid().log()
            branches[:, right] = (-logit).sigmoid().log()
    close(leaf_log_prob(graph, branches), tree.leaf_log_prob(x), 1e-12)


@pytest.mark.parametrize("transformers", [True, False])
def test_a_tree_is_built_again_from_its_configuration(transformers: bool) -> None:
    x = draw("categorical", 6).x
    configurations = set()
    for seed in range(12):
        tree = tree_of(SHAPE_NAMES[seed % 3], SMALL[-1 - seed], seed, transformers)
        text = json.dumps(tree.config())
        configurations.add(text)
        other = NeuralTree.from_config(json.loads(text), tree.primitives, tree.likelihood).double()
        assert other.config() == tree.config()
        assert [node.shape for node in other.nodes] == [node.shape for node in tree.nodes]
        assert not torch.equal(other.output(x), tree.output(x))
        other.load_state_dict(tree.state_dict())
        for path in ("multi", "greedy", "most_likely", "least_likely"):
            assert torch.equal(other.output(x, path), tree.output(x, path))
    assert len(configurations) == 12


SHAPE_NAMES = list(LIKELIHOODS)


def test_splits_and_deepenings_keep_what_is_elsewhere() -> None:
    tree, x = tree_of(), draw("categorical", 5).x
    leaf, *others = tree.topology.leaves.tolist()
    router = next(v for v in routers(tree) if leaf in tree.topology.children_of(v))
    before = tree.nodes[router].router
    reach = tree.leaf_log_prob(x)
    with torch.no_grad():
        tree.deepen(leaf)
    close(tree.leaf_log_prob(x), reach, 1e-12)
    left, right = tree.split(leaf)
    assert tree.nodes[router].router is before
    assert tree.topology.leaves.tolist() == sorted([*others, left, right])
    assert tree.num_leaves == len(others) + 2
    assert {parameter.dtype for parameter in tree.parameters()} == {torch.float64}
    after = dict(zip(tree.topology.leaves.tolist(), tree.leaf_log_prob(x).unbind(1), strict=True))
    close(after[left].exp() + after[right].exp(), reach[:, 0].exp(), 1e-12)
    close(torch.stack([after[each] for each in others], 1), reach[:, 1:], 1e-12)


def test_modules_may_be_given() -> None:
    tree = NeuralTree(small_primitives(4), (3,))
    transformer, solver = tree.new_deepening(0)
    tree.deepen(0, (transformer, solver))
    assert tree.nodes[0].solver is solver
    assert tree.nodes[0].transformers[-1] is transformer
    assert tree.num_transformers(0) == 2
    parts = tree.new_split(0)
    left, right = tree.split(0, parts)
    assert (tree.nodes[0].router, tree.nodes[left].solver, tree.nodes[right].solver) == parts
    assert tree.nodes[0].solver is None


def test_new_modules_follow_the_trees_mode() -> None:
    primitives = Primitives(
        router=lambda shape: nn.Linear(*shape, 1),
        transformer=lambda shape: nn.Sequential(nn.Linear(*shape, *shape), nn.Dropout()),
        solver=lambda shape: nn.Linear(*shape, 2),
    )
    tree = NeuralTree(primitives, (3,)).eval()
    tree.deepen(tree.split(0)[0])
    x = torch.randn(9, 3)
    assert torch.equal(tree.output(x), tree.output(x))
    assert not any(module.training for module in tree.modules())


# ---- bad input


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
            "the router does not run on samples of shape [3]: 2 samples become a tensor of shape "
            "[]; expected one entry a sample first",
        ),
        (
            one(transformer=lambda shape: nn.Flatten(0)),
            ValueError,
            "the transformer does not run on samples of shape [3]: 2 samples become a tensor of "
            "shape [6]; expected one entry a sample first",
        ),
    ],
)
def test_functions_that_make_no_fitting_module(
    primitives: Primitives, error: type, message: str
) -> None:
    with pytest.raises(error, match=exactly(message)):
        NeuralTree(primitives, (3,)).split(0)


def test_a_name_is_no_primitives() -> None:
    message = "the primitives must be Primitives, such as presets.mlp makes. Got 'mlp'."
    with pytest.raises(TypeError, match=exactly(message)):
        NeuralTree("mlp", (4,))


@pytest.mark.parametrize("node", [0, 2, 5, -1])
def test_what_is_no_leaf_does_not_grow(node: int) -> None:
    tree = tree_of(shape=LEFT_LEAF)
    before = tree.config()
    message = exactly(f"node {node} is no leaf; the leaves are [1, 3, 4]")
    for grow in (tree.split, tree.deepen, tree.new_split, tree.new_deepening):
        with pytest.raises(ValueError, match=message):
            grow(node)
    assert tree.config() == before


def test_a_tree_without_routers_or_transformers_grows_none() -> None:
    tree = NeuralTree(small_primitives(2).without(routers=True, transformers=True), (3,))
    with pytest.raises(ValueError, match=exactly("this tree has no routers to split node 0 with")):
        tree.split(0)
    message = "this tree has no transformers to deepen node 0 with"
    with pytest.raises(ValueError, match=exactly(message)):
        tree.deepen(0)


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
    message = exactly(f"The 'path' parameter must be one of {names}. Got 'best'.")
    with pytest.raises(ValueError, match=message):
        tree.output(x, "best")
    for path in ("best", "multi"):  # of all leaves there is no one
        message = exactly(f"The 'path' parameter must be one of {names[1:]}. Got {path!r}.")
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
        ("squared error", torch.zeros(3), "targets must be numbers [3, 2]. Got [3]."),
        ("squared error", torch.zeros(3, 1), "targets must be numbers [3, 2]. Got [3, 1]."),
        ("gaussian mixture", torch.zeros(3), "targets must be numbers [3, 2]. Got [3]."),
        ("gaussian mixture", torch.zeros(3, 4), "targets must be numbers [3, 2]. Got [3, 4]."),
    ],
)
def test_targets_of_another_shape_are_not_broadcast(
    name: str, targets: Tensor, message: str
) -> None:
    with pytest.raises(ValueError, match=exactly(message)):
        tree_of(name).loss(Samples(draw(name, 3).x, targets))


def test_a_mixture_of_gaussians_needs_pairs_of_outputs() -> None:
    tree = NeuralTree(small_primitives(3), (3,), GaussianMixture())
    message = "solvers must give a mean and a log standard deviation a column. Got 3 outputs."
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


def test_shapes_are_found_without_a_trace() -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout())
    before = {name: value.clone() for name, value in module.state_dict().items()}
    state = torch.get_rng_state()
    assert shape_after(module, (3,)) == (4,)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert all(each.training for each in module.modules())
