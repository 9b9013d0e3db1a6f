"""The estimators of trees with no setting touched, beside linear models and boosting on counts.

Functions of Python's standard library: which of eight packages a function is of, with functions
split at random and with whole files split, and the same from structure alone; whether a loop stands
inside a condition; the value of a Boolean expression. Sentences of a treebank (``--treebank FILE``,
bracketed): the hidden label of the root, the hidden tag of a masked word, how many nouns there are,
with and without tags to see. A quarter of each is for testing; nothing here was chosen on it.

``bag`` is logistic or ridge regression on how often each label occurs, ``pairs`` the same with
pairs of parent and child, ``boosting`` scikit-learn's HistGradientBoosting on the counts of the 300
most frequent labels. Figures are accuracies, or root mean squared errors for numbers.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold

from structnet import TreeLSTMClassifier, TreeLSTMRegressor
from structnet.datasets import python_functions
from structnet.parse import bracketed_many
from structnet.trees.tree import Tree

SHOWN = 300  # labels that boosting sees
LEAST = 10  # examples of a class


class Task(NamedTuple):
    trees: list[Tree]
    y: np.ndarray
    groups: list | None = None  # what is not to be split


# ---- functions

# Labels of leaves that are Python's, not the author's.
OPERATORS = """
Add Sub Mult Div Mod Pow LShift RShift BitOr BitXor BitAnd FloorDiv MatMult And Or Not Invert UAdd
USub Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn Pass Break Continue arguments
"""
WORDS = set(OPERATORS.split())


def package(by_file: bool = False, bare: bool = False) -> Task:
    found = python_functions()
    trees = [_bare(tree) for tree in found.trees] if bare else found.trees
    return Task(trees, np.array(found.packages), found.files if by_file else None)


def _bare(tree: Tree) -> Tree:
    """Without names and constants."""
    return tree.fold(lambda n, of: Tree(n.label if of or n.label in WORDS else "x", of))


def loop_in_condition() -> Task:
    """Of the functions that have both: does a loop stand inside an if?"""
    chosen, y = [], []
    for tree in python_functions(packages=100).trees:
        inside, both, stack = False, set(), [(tree, False)]
        while stack:
            node, below = stack.pop()
            kind = {"For": "loop", "While": "loop", "If": "if"}.get(node.label)
            if node.children and kind:
                both.add(kind)
                inside |= kind == "loop" and below
            stack += [(child, below or kind == "if") for child in node.children]
        if len(both) == 2:
            chosen.append(tree)
            y.append(inside)
    return Task(chosen, np.array(y))


def expressions(count: int = 6000) -> Task:
    rng = random.Random(0)
    rules = {"and": min, "or": max, "xor": lambda of: of[0] ^ of[1], "not": lambda of: 1 - of[0]}

    def draw(depth: int) -> Tree:
        if depth == 0 or (depth < 4 and rng.random() < 0.3):
            return Tree(rng.choice("01"))
        name = rng.choice(list(rules))
        return Tree(name, [draw(depth - 1) for _ in range(1 if name == "not" else 2)])

    trees = [draw(rng.randint(2, 5)) for _ in range(count)]
    y = [tree.fold(lambda n, of: rules[n.label](of) if of else int(n.label)) for tree in trees]
    return Task(trees, np.array(y))


# ---- sentences


def sentences(path: Path) -> list[Tree]:
    """Without the empty label above each sentence."""
    found = bracketed_many(path.read_text(encoding="utf-8"))
    return [t.children[0] if len(t.children) == 1 and not t.label else t for t in found]


def _is_tag(node: Tree) -> bool:
    return len(node.children) == 1 and not node.children[0].children


def root_label(trees: list[Tree]) -> Task:
    y = [tree.label.split("-")[0] or tree.label for tree in trees]
    return _frequent([Tree("?", tree.children) for tree in trees], y)


def masked_tag(trees: list[Tree], times: int = 4) -> Task:
    """Some words of each sentence, one at a time; a sentence is not split."""
    rng, masked, y, groups = random.Random(0), [], [], []
    for i, tree in enumerate(trees):
        nodes = list(tree.preorder())
        tags = [k for k, n in enumerate(nodes) if _is_tag(n) and n.label != "-NONE-"]
        for k in rng.sample(tags, min(times, len(tags))):
            masked.append(_replaced(tree, k, Tree("?", [Tree("?")])))
            y.append(nodes[k].label)
            groups.append(i)
    return _frequent(masked, y, groups)


def _replaced(tree: Tree, place: int, by: Tree) -> Tree:
    """Another subtree in place of the one at that place in preorder."""
    path, node, left = [], tree, place
    while left:
        left -= 1
        for j, child in enumerate(node.children):
            if left < child.size:
                path.append((node, j))
                node = child
                break
            left -= child.size
    for parent, j in reversed(path):
        by = Tree(parent.label, [*parent.children[:j], by, *parent.children[j + 1 :]])
    return by


def nouns(trees: list[Tree], hidden: bool) -> Task:
    y = [sum(_is_tag(n) and n.label.startswith("NN") for n in t.preorder()) for t in trees]
    if hidden:
        trees = [
            t.fold(
                lambda n, of: Tree("TAG" if len(of) == 1 and not of[0].children else n.label, of)
            )
            for t in trees
        ]
    return Task(trees, np.array(y, dtype=float))


def _frequent(trees: list[Tree], y: list, groups: list | None = None) -> Task:
    count = Counter(y)
    kept = [i for i, label in enumerate(y) if count[label] >= LEAST]
    of = None if groups is None else [groups[i] for i in kept]
    return Task([trees[i] for i in kept], np.array([y[i] for i in kept]), of)


# ---- models


def score(said: np.ndarray, y: np.ndarray) -> float:
    if y.dtype.kind == "f":
        return float(np.sqrt(((said - y) ** 2).mean()))
    return float((said == y).mean())


def counts(tree: Tree, pairs: bool) -> dict[str, int]:
    found: Counter = Counter()
    for node in tree.preorder():
        found[f"{bool(node.children):d} {node.label}"] += 1
        if pairs:
            found.update(f"{node.label} > {child.label}" for child in node.children)
    return found


def baselines(task: Task, learn: np.ndarray, test: np.ndarray) -> dict[str, float]:
    numbers, found = task.y.dtype.kind == "f", {}
    for name in ("bag", "pairs"):
        rows = [counts(tree, name == "pairs") for tree in task.trees]
        names = DictVectorizer()
        x = names.fit_transform([rows[i] for i in learn])
        z = names.transform([rows[i] for i in test])
        if numbers:
            model = RidgeCV(np.logspace(-2, 3, 6)).fit(x, task.y[learn])
            found[name] = score(model.predict(z), task.y[test])
        else:
            model = LogisticRegression(max_iter=200).fit(x.log1p(), task.y[learn])
            found[name] = score(model.predict(z.log1p()), task.y[test])
        if name == "bag":
            most = np.argsort(-np.asarray((x > 0).sum(0)).ravel())[:SHOWN]
            kind = HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier
            model = kind(random_state=0).fit(x[:, most].toarray(), task.y[learn])
            found["boosting"] = score(model.predict(z[:, most].toarray()), task.y[test])
    return found


def ours(task: Task, learn: np.ndarray, test: np.ndarray, seed: int) -> dict[str, float]:
    kind = TreeLSTMRegressor if task.y.dtype.kind == "f" else TreeLSTMClassifier
    start = time.process_time()
    model = kind(random_state=seed).fit([task.trees[i] for i in learn], task.y[learn])
    seconds = time.process_time() - start
    said = model.predict([task.trees[i] for i in test])
    return {"tree": score(said, task.y[test]), "cpu s": seconds}


def parted(task: Task, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three quarters to learn from, one to test."""
    how = {"n_splits": 4, "shuffle": True, "random_state": seed}
    if task.groups is not None:
        return next(StratifiedGroupKFold(**how).split(task.y, task.y, task.groups))
    kind = KFold if task.y.dtype.kind == "f" else StratifiedKFold
    return next(kind(**how).split(task.y, task.y))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="the Boolean expressions alone")
    parser.add_argument("--seed", type=int, default=0, help="of the first split (default 0)")
    parser.add_argument("--seeds", type=int, default=1, help="splits, each with its seed")
    parser.add_argument("--treebank", type=Path, help="a file of bracketed sentences")
    parser.add_argument("--only", help="names of tasks, separated by semicolons")
    told = parser.parse_args()
    tasks: dict[str, Callable[[], Task]] = {"value of an expression": expressions}
    if told.quick:
        tasks = {"value of an expression": lambda: expressions(1000)}
    else:
        tasks |= {
            "package of a function": package,
            "the same, files split": lambda: package(by_file=True),
            "the same, structure alone": lambda: package(bare=True),
            "loop in a condition": loop_in_condition,
        }
    if told.treebank and not told.quick:
        trees = sentences(told.treebank)
        tasks |= {
            "label of the root": lambda: root_label(trees),
            "tag of a masked word": lambda: masked_tag(trees),
            "number of nouns": lambda: nouns(trees, hidden=False),
            "the same, tags hidden": lambda: nouns(trees, hidden=True),
        }
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = []
    for name in told.only.split(";") if told.only else tasks:
        task = tasks[name]()
        found: dict[str, list[float]] = {}
        for seed in range(told.seed, told.seed + told.seeds):
            learn, test = parted(task, seed)
            each = {**ours(task, learn, test, seed), **baselines(task, learn, test)}
            for key, value in each.items():
                found.setdefault(key, []).append(value)
        means = {key: statistics.mean(values) for key, values in found.items()}
        rows.append({"task": name, "trees": len(task.trees), **means})
        cells = (f"{key} {value:.4f}" for key, value in means.items())
        print(
            f"{name}: {len(task.trees)} trees, {told.seeds} splits; " + ", ".join(cells), flush=True
        )
    print(json.dumps({"rows": rows, "seed": told.seed, "seeds": told.seeds}))


if __name__ == "__main__":
    main()
