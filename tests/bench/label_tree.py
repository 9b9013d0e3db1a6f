"""Label trees on next words: training, reassignment and prediction beside the authors' figures.

Words are drawn like those of a text: 12,000 labels, of frequencies as Zipf has them, in contexts of
four words. The authors' C++ program needed 11-12.6 processor seconds for 5 epochs of a million
lines with Huffman's tree of 5 children, 18-22 with 20, 36-47 and 71 where the tree is learned; on
one thread, as here. Processor time. ``module`` is the torch module on batches of 1024, beside plain
autograd; ``reading`` is the time to read such lines from a file; ``node`` is a pass of a single
node of all labels through dense rows in minibatches, beside the loop over examples of a tree's.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from common import arguments, medians, report

from structnet.datasets import read_fasttext
from structnet.label_tree import (
    Examples,
    Features,
    LabelTree,
    LabelTreeSettings,
    Training,
    TreeSoftmaxLoss,
    begin,
)
from structnet.label_tree._node_kernels import train_node
from structnet.label_tree._sgd_kernels import train_dense
from structnet.training.one_thread import ONE_THREAD

SIZE, EPOCHS = 50, 5


def drawn(number: int, labels: int, seed: int) -> Examples:
    """Contexts of four words, and labels that depend on the last one."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, labels + 1)
    words = rng.choice(labels, (number, 4), p=share / share.sum())
    y = np.where(rng.random(number) < 0.3, words[:, 0] * 7 % labels, words[:, 1])
    return Examples(Features.from_bags(np.arange(number + 1) * 4, words.ravel(), labels), y)


def training_row(examples: Examples, labels: int, tree: str, arity: int, threads: int) -> dict:
    settings = LabelTreeSettings(tree, arity, SIZE, EPOCHS, 0.05, "huffman")
    few = drawn(2000, 20, 0)
    Training(begin(few, 20, settings), settings).run(few)  # compiled
    model, start = begin(examples, labels, settings), time.process_time()
    training = Training(model, settings, threads=threads).run(examples)
    spent = time.process_time() - start
    rebuild = None
    if tree == "learned":
        rebuild = 1000 * medians(model.softmax.reassign, repeats=5)[0]
    start = time.process_time()
    nodes = model.top_k(examples.features[: len(examples) // 10])[2]
    asked = time.process_time() - start
    parameters = sum(p.numel() * 4 for p in model.parameters())
    kept = model.softmax.sums.numel() * 4 + model.softmax.seen.numel() * 8
    return {
        "tree": tree,
        "arity": arity,
        "threads": threads,
        "seconds": spent,
        "examples/s": EPOCHS * len(examples) / spent,
        "rebuild ms": rebuild,
        "predictions/s": len(examples) / 10 / asked,
        "nodes visited": nodes,
        "MB": (parameters + kept) / 1e6,
        "loss": training.epochs[-1]["loss"],
    }


def module_row(examples: Examples, labels: int, batch: int) -> dict:
    """The torch module, with gradients by hand, beside plain autograd on gathered weights."""
    counts = examples.counts(labels)
    loss = TreeSoftmaxLoss(SIZE, labels, 20, counts=counts, sparse=True)
    x = torch.randn(batch, SIZE, requires_grad=True)
    target = torch.from_numpy(examples.labels[:batch])
    offsets = torch.from_numpy(loss.codes.offsets)
    row = torch.cat([torch.arange(offsets[t], offsets[t + 1]) for t in target])
    example = torch.arange(batch).repeat_interleave(offsets[target + 1] - offsets[target])
    node, slot = (torch.from_numpy(a).long()[row] for a in (loss.codes.nodes, loss.codes.slots))

    def ours() -> None:
        loss.zero_grad()
        loss(x, target).loss.backward()

    def plain() -> None:
        loss.zero_grad()
        logits = (loss.weight[node] @ x[example].unsqueeze(-1)).squeeze(-1)
        logits = logits + loss.bias.masked_fill(loss.mask, -torch.inf)[node]
        (-logits.log_softmax(-1).gather(1, slot[:, None]).sum() / batch).backward()

    times = medians(ours, plain, repeats=10)
    return {
        "tree": "module",
        "arity": 20,
        "threads": 1,
        "examples/s": batch / times[0],
        "ratio to autograd": times[1] / times[0],
    }


def node_row(labels: int, number: int, seed: int) -> dict:
    """A pass of a single node through dense rows, beside the loop over examples on the same."""
    rng, size = np.random.default_rng(seed), 32
    features = Features.from_table(rng.normal(size=(number, size)).astype(np.float32))
    y, tree = rng.integers(labels, size=number), LabelTree(size, labels, arity=labels)
    codes, (_, weight, bias, _) = tree.codes, tree.arrays(features, lay=True)
    nothing = np.zeros(0, np.float32)
    where = *features.parts, weight, bias, codes.offsets, codes.nodes, codes.slots
    noted = tree.softmax.statistics
    given = 0, number, y, nothing, *where, noted.sums, noted.seen, 0.01, 0.0, True
    with ONE_THREAD:
        times = medians(lambda: train_node(*given), lambda: train_dense(*given, None), repeats=5)
    return {
        "tree": "node",
        "arity": labels,
        "threads": 1,
        "examples/s": number / times[0],
        "ratio to one by one": times[1] / times[0],
    }


def reading_row(number: int, seed: int) -> dict:
    words = np.random.default_rng(seed).integers(12_000, size=(number, 5))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lines.txt")
        path.write_text(
            "".join(f"__label__w{r[0]} w{r[1]} w{r[2]} w{r[3]} w{r[4]}\n" for r in words)
        )
        (spent,) = medians(lambda: read_fasttext(path), repeats=3)
    return {"tree": "reading", "examples/s": number / spent}


def growth_row(labels: int, number: int, seed: int) -> dict:
    """A tree of very many labels: how long a reassignment takes, and what a tree weighs."""
    examples = drawn(number, labels, seed)
    settings = LabelTreeSettings("learned", 20, SIZE, 1, 0.05, "huffman", rebuilds=2)
    start = time.process_time()
    model: LabelTree = begin(examples, labels, settings)
    Training(model, settings).run(examples)
    spent = time.process_time() - start
    rebuild = medians(model.softmax.reassign, repeats=3)[0]
    return {
        "tree": f"learned, {labels:,} labels",
        "arity": 20,
        "threads": 1,
        "seconds": spent,
        "rebuild ms": 1000 * rebuild,
        "MB": sum(p.numel() * 4 for p in model.parameters()) / 1e6,
    }


def main() -> None:
    options = arguments(__doc__)
    torch.set_num_threads(1)
    number, labels = (15_000, 3_000) if options.quick else (830_000, 12_000)
    examples = drawn(number, labels, options.seed)
    rows = [reading_row(number, options.seed)]
    for tree, arity in (("huffman", 5), ("huffman", 20), ("learned", 5), ("learned", 20)):
        for threads in (1,) if options.quick else (1, 2):
            rows.append(training_row(examples, labels, tree, arity, threads))
    rows.append(module_row(examples, labels, 1024))
    rows += [node_row(each, 3_000, options.seed) for each in (500, 2_000, 8_000)]
    rows.append(growth_row(20_000 if options.quick else 300_000, number, options.seed))
    report(rows, seed=options.seed, labels=labels, lines=number, epochs=EPOCHS)


if __name__ == "__main__":
    main()
