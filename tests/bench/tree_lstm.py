"""Training speed of the Tree-LSTM on ListOps: the two backends side by side.

A step is: choose a minibatch at random, plan it, forward, backward, optimiser step; one thread. The
``dgl`` rows run the reference backend on trees without sharing, as released code does, and on the
same shared forest. ``products`` is the time of a step's matrix products alone, on the same
minibatch, in one compiled call: forward, and backward to both factors. Medians; the columns
``best`` are of the fastest step, which on a busy machine says more of the code. ``two threads`` is
how many times faster a step is on two than on one, by the clock on the wall, the fastest of each,
with torch's own products on one as in ``fit``. ``memory`` is by how much one step on all trees
raises this process's peak, over twice what the forward keeps: states and messages, and as much for
their gradients. ``default`` is the model that the estimators of trees take, on syntax
trees of Python functions and on sentences (``--treebank FILE``, bracketed);
``packaged`` is the child-sum cell of the package pytorch-tree-lstm on the same trees (``pip install
-e '.[bench]'``). On a machine with a GPU there are rows for it, and its values and gradients are
compared with the CPU's.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import truediv
from pathlib import Path
from statistics import median

import numpy as np
import packaged_tree_lstm
import torch
from common import arguments, medians, report, seconds

from structnet.datasets import listops, python_functions
from structnet.parse import bracketed_many
from structnet.tensor_tree import (
    ChildSumTreeLSTM,
    FullTensor,
    TreeClassifier,
    TreeLSTM,
    TreePredictor,
    TreeReadout,
    Tucker,
    WeightedSum,
)
from structnet.tensor_tree.compiled.cores import make_core
from structnet.tensor_tree.compiled.kernels.gates import compiled
from structnet.tensor_tree.compiled.plan import make_plan
from structnet.training.one_thread import ONE_THREAD
from structnet.training.threads import Threads
from structnet.trees.examples import TreeExamples
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

MODELS = {
    "tucker c=20 r=3": (20, partial(Tucker, rank=3)),
    "sum c=88": (88, WeightedSum),
    "full c=5": (5, FullTensor),
}


def make_model(name: str, seed: int, device: str = "cpu") -> TreeClassifier:
    hidden_size, aggregator = MODELS[name]
    torch.manual_seed(seed)
    inputs = torch.tril(torch.ones(10, 10))
    return TreeClassifier(TreeLSTM(hidden_size, 4, 5, inputs, aggregator), 10).to(device)


def make_examples(num_trees: int, seed: int) -> tuple[TreeExamples, TreeExamples]:
    """The same trees with and without sharing."""
    trees = listops.generate(num_trees, seed=seed)
    targets = [listops.evaluate_expression(tree) for tree in trees]
    vocabulary = Vocabulary(["MAX", "MIN", "MED", "SM"], "0123456789", arity=5)
    return tuple(
        TreeExamples(Forest.from_trees(trees, vocabulary, share=share), targets)
        for share in (True, False)
    )


def minibatches(num_examples: int, batch_size: int, seed: int) -> Iterator[np.ndarray]:
    """The examples of one step after the other."""
    generator = np.random.default_rng(seed)
    while True:
        yield generator.choice(num_examples, batch_size, replace=False)


def make_step(
    model: torch.nn.Module, examples: TreeExamples, batch_size: int, backend: str, seed: int
) -> Callable[[], None]:
    fused = backend == "levels"  # the reference steps as plainly as it propagates
    optimizer = torch.optim.Adam(model.parameters(), fused=fused)
    chosen = minibatches(len(examples), batch_size, seed)
    device = next(model.parameters()).device

    def step() -> None:
        batch = examples[next(chosen)].to(device)
        optimizer.zero_grad()
        logits = model(batch.forest, backend=backend)
        torch.nn.functional.cross_entropy(logits, batch.targets).backward()
        optimizer.step()
        if device.type == "cuda":
            torch.cuda.synchronize()

    return step


@compiled
def _products(rows, keys, totals, x, weight, y, dx, dw):
    """Of runs of rows with equal keys: forward and backward; then each key's rows at once."""
    for run in range(len(rows)):
        n, key = rows[run], keys[run]
        for g in range(weight.shape[1]):
            np.dot(x[g, :n], weight[key, g], y[g, :n])
            np.dot(y[g, :n], weight[key, g].T, dx[g, :n])
    for key in range(len(totals)):
        for g in range(weight.shape[1]):
            n = totals[key]
            np.dot(x[g, :n].T, y[g, :n], dw[key, g])


def make_products(model: TreeClassifier, batches: Iterable[TreeExamples]) -> Callable[[], None]:
    """The matrix products of a step on one batch after the other, over again."""
    steps = itertools.cycle([_arguments(model, batch) for batch in batches])

    def products() -> None:
        with ONE_THREAD:
            for each in next(steps):
                _products(*each)

    return products


def _arguments(model: TreeClassifier, batch: TreeExamples) -> list[tuple]:
    """What :func:`_products` gets: the messages' linear maps and, where there is one, the core."""
    encoder = model.encoder
    plan = make_plan(batch.forest, encoder.layout)
    aggregator, c = encoder.aggregator, encoder.hidden_size
    linear = aggregator.message_weight()
    width = c + (0 if linear is None else linear.shape[-1])
    runs = [(plan.messages, plan.message_keys, (encoder.layout.num_keys, 1, c, width))]
    if isinstance(aggregator, FullTensor | Tucker):
        tensor, parts, rank = (
            (aggregator.core, aggregator.gates, aggregator.rank)
            if isinstance(aggregator, Tucker)
            else (aggregator.tensor, 1, c)
        )
        core = make_core(tensor.detach().numpy(), parts, aggregator.arity, rank)
        runs.append((plan.nodes, plan.node_keys, core.weight.shape))
    arguments = []
    for firsts, keys, (num_keys, parts, i, o) in runs:
        used = keys >= 0  # all but untyped leaves
        lengths, keys = np.diff(firsts)[used], keys[used]
        totals = np.bincount(keys, lengths, num_keys).astype(np.int64)
        shapes = (parts, totals.max(), i), (num_keys, parts, i, o), (parts, totals.max(), o)
        x, weight, y = (np.full(shape, 0.01, np.float32) for shape in shapes)
        arguments.append((lengths, keys, totals, x, weight, y, x.copy(), weight.copy()))
    return arguments


def two_threads(step: Callable[[], None], repeats: int) -> float:
    """How many times faster a step is on two threads than on one."""

    def on(threads: int) -> None:
        torch.set_num_threads(threads)
        with Threads(torch.device("cpu")).kept():
            torch.set_num_threads(1)
            step()

    calls = (partial(on, threads) for threads in (1, 2))
    one, two = seconds(*calls, repeats=repeats, clock=time.perf_counter)
    torch.set_num_threads(1)
    return min(one) / min(two)


def memory(model: torch.nn.Module, examples: TreeExamples) -> float | None:
    """How far a step raises the peak of the process's memory, over twice what its forward keeps."""
    clear, status = Path("/proc/self/clear_refs"), Path("/proc/self/status")
    if not clear.exists():  # Linux alone has it
        return None

    def told(name: str) -> int:
        return int(re.search(rf"{name}:\s+(\d+) kB", status.read_text())[1]) * 1024

    kept: dict[int, int] = {}
    own = {parameter.data_ptr() for parameter in model.parameters()}

    def keep(x: torch.Tensor) -> torch.Tensor:
        if x.data_ptr() not in own:
            kept[x.data_ptr()] = x.nbytes
        return x

    ctypes.CDLL(None).malloc_trim(0)  # what was freed would be taken again without a rise
    clear.write_text("5")
    before = told("VmRSS")
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        loss = torch.nn.functional.cross_entropy(model(examples.forest), examples.targets)
    loss.backward()
    return (told("VmHWM") - before) / (2 * sum(kept.values()))


def measure(name: str, batch_size: int, repeats: int, data: tuple, seed: int) -> dict:
    shared, unshared = data
    model = make_model(name, seed)
    step = make_step(model, shared, batch_size, "levels", seed)
    plain = make_step(make_model(name, seed), unshared, batch_size, "dgl", seed)
    plain_shared = make_step(make_model(name, seed), shared, batch_size, "dgl", seed)
    warm_up, few = 3, max(repeats // 10, 3)
    chosen = [*itertools.islice(minibatches(len(shared), batch_size, seed), warm_up + repeats)]
    products = make_products(model, (shared[each] for each in chosen))
    fast, bare = seconds(step, products, repeats=repeats, warm_up=warm_up)
    ours, slow, slow_shared = medians(step, plain, plain_shared, repeats=few)
    nodes = median(unshared[each].forest.num_nodes for each in chosen[warm_up:])
    return {
        "model": name,
        "device": "cpu",
        "batch": batch_size,
        "trees/s": batch_size / median(fast),
        "best trees/s": batch_size / min(fast),
        "nodes/s": nodes / median(fast),
        "dgl trees/s": batch_size / slow,
        "dgl shared trees/s": batch_size / slow_shared,
        "ratio": slow / ours,
        "ratio shared": slow_shared / ours,
        "step/products": median(map(truediv, fast, bare)),
        "best step/products": min(fast) / min(bare),
        "memory": memory(make_model(name, seed), unshared),
    }


def default_model(name: str, trees: list[Tree], y: Sequence[str], repeats: int, seed: int) -> list:
    """Rows of the default model of users' trees."""
    vocabulary = Vocabulary.from_trees(trees, unknown=True, min_count=2, any_arity=True)
    names = sorted(set(y))
    targets = [names.index(label) for label in y]
    examples = TreeExamples(Forest.from_trees(trees, vocabulary), targets)
    sizes = vocabulary.num_types, vocabulary.num_tokens

    def make(device: str = "cpu") -> TreePredictor:
        torch.manual_seed(seed)
        encoder = ChildSumTreeLSTM(64, *sizes, label_dropout=0.2)
        readout = TreeReadout(encoder, len(names), ("root", "max", "attention"))
        return TreePredictor(readout).to(device)

    def step_of(batch_size: int, backend: str) -> Callable[[], None]:
        return make_step(make(), examples, batch_size, backend, seed)

    size = float(np.mean([tree.size for tree in trees]))
    rows = []
    for batch_size in (32, 100):
        ours = step_of(batch_size, "levels")
        (fast,) = seconds(ours, repeats=repeats, warm_up=3)
        ours, plain = step_of(batch_size, "levels"), step_of(batch_size, "dgl")
        again, slow = medians(ours, plain, repeats=3)
        packaged = packaged_tree_lstm.step_of(trees, targets, batch_size, 64, seed)
        turns = medians(ours, packaged, repeats=5) if packaged else None
        rows.append(
            {
                "model": f"default, {name}",
                "batch": batch_size,
                "trees/s": batch_size / median(fast),
                "best trees/s": batch_size / min(fast),
                "times dgl": slow / again,
                "times packaged": turns and turns[1] / turns[0],
                "two threads": two_threads(step_of(batch_size, "levels"), repeats),
                "nodes/s": batch_size / median(fast) * size,
                "memory": memory(make(), examples),
            }
        )
    if torch.cuda.is_available():
        rows += on_gpu(f"default, {name}", make, examples, repeats, seed)
    return rows


def on_gpu(
    name: str,
    make: Callable[[str], torch.nn.Module],
    examples: TreeExamples,
    repeats: int,
    seed: int,
) -> list[dict]:
    """Speed of a model on the GPU beside one thread of the processor, and how far they differ."""
    batch = examples[np.arange(250)]
    results = []
    for device in ("cpu", "cuda"):
        model = make(device).eval()
        there = batch.to(device)
        torch.nn.functional.cross_entropy(model(there.forest), there.targets).backward()
        results.append([p.grad for p in model.parameters()])
    pairs = [(a.cpu(), b.cpu()) for a, b in zip(*results, strict=True)]
    worst = max(float((a - b).abs().max() / a.abs().max()) for a, b in pairs)
    rows = []
    for batch_size in (32, 250, 1000, 4096):
        if batch_size > len(examples):
            break
        steps = (make_step(make(d), examples, batch_size, "levels", seed) for d in ("cpu", "cuda"))
        cpu, gpu = seconds(*steps, repeats=repeats, warm_up=3, clock=time.perf_counter)
        rows.append(
            {
                "model": name,
                "device": torch.cuda.get_device_name(),
                "batch": batch_size,
                "trees/s": batch_size / median(gpu),
                "best trees/s": batch_size / min(gpu),
                "times a thread": median(cpu) / median(gpu),
                "largest difference": worst,  # of a gradient, beside its largest number
            }
        )
    return rows


def main() -> None:
    options = arguments(__doc__, treebank="a file of bracketed sentences")
    torch.set_num_threads(1)
    data = make_examples(6_000 if options.quick else 20_000, options.seed)
    repeats = 12 if options.quick else 60
    rows = [
        measure(name, batch_size, repeats, data, options.seed)
        for name in MODELS
        for batch_size in (25, 250)
    ]
    for name, batch_size in itertools.product(MODELS, (25, 250, 1000, 4000)):
        step = make_step(
            make_model(name, options.seed), data[0], batch_size, "levels", options.seed
        )
        gain = two_threads(step, repeats)
        rows.append({"model": name, "batch": batch_size, "two threads": gain})
    if torch.cuda.is_available():
        for name in MODELS:
            make = partial(make_model, name, options.seed)
            rows += on_gpu(name, make, data[0], repeats, options.seed)
    functions = python_functions(["email"] if options.quick else ["asyncio", "email", "xml"])
    rows += default_model("functions", functions.trees, functions.packages, repeats, options.seed)
    if options.treebank:
        trees = list(bracketed_many(options.treebank.read_text(encoding="utf-8")))
        widths = [str(min(len(tree.children), 4)) for tree in trees]  # whatever: speed is measured
        rows += default_model("sentences", trees, widths, repeats, options.seed)
    report(rows, threads=torch.get_num_threads(), trees=len(data[0]), seed=options.seed)


if __name__ == "__main__":
    main()
