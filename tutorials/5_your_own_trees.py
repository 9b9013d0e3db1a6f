# %% [markdown]
# # Trees of your own: which package is a function from?
#
# Every machine with Python has thousands of syntax trees on it: the functions of Python's standard
# library. Here we parse them, look at one, and predict from which package each comes. The first
# model is linear and only counts labels, the baseline that a tree model should beat; then comes a
# Tree-LSTM with its default settings. We look where the tree helps and where it does not, have it
# explain an answer, save it, and do the same from the command line.
#
# For your own data, replace the section *Parse*: `X` is a list of trees, `y` a list of classes.
#
# `python tutorials/5_your_own_trees.py` takes about two minutes and writes its pictures to
# `runs/tutorials/`. With `STRUCTNET_SMOKE=1` it takes seconds and learns next to nothing.

# %%
import os
import random
import time
from collections import Counter
from itertools import chain
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from structnet import (
    Tree,
    TreeLSTMClassifier,
    TreeLSTMNodeClassifier,
    TreeLSTMRegressor,
    plot_explanation,
    plot_tree,
)
from structnet.datasets import python_functions
from structnet.parse import python

SMOKE = os.environ.get("STRUCTNET_SMOKE") == "1"
PICTURES = Path("runs/tutorials")
PICTURES.mkdir(parents=True, exist_ok=True)
EPOCHS = 2 if SMOKE else None  # None: the estimator's own choice

# %% [markdown]
# ## Parse
# `parse.python` turns source code into a tree; any other parser can be used in the same way. Inner
# nodes are labelled with the classes of Python's grammar; leaves are names, constants and
# operators.

# %%
print(python("def double(x):\n    return 2 * x", contexts=False).pretty())

# %%
start = time.perf_counter()
packages = ["json", "logging"] if SMOKE else ["asyncio", "email", "logging", "unittest"]
found = python_functions(packages, max_size=400)
print(f"{len(found.trees):,} functions, {sum(tree.size for tree in found.trees):,} nodes, ", end="")
print(f"{time.perf_counter() - start:.1f} s")
print(dict(Counter(found.packages)))

# %% [markdown]
# ## Look
# One of them as a picture.

# %%
example = min(found.trees, key=lambda tree: abs(tree.size - 40))
ax = plot_tree(example)
ax.figure.savefig(PICTURES / "own_tree.png", dpi=120, bbox_inches="tight")
plt.close(ax.figure)

# %% [markdown]
# ## Count first
# A quarter of the functions is for testing. The baselines are logistic regression on how often each
# label occurs, and gradient boosting on the counts of the 100 commonest labels.

# %%
X, test, y, answers = train_test_split(
    found.trees, found.packages, test_size=0.25, random_state=0, stratify=found.packages
)


def counts(trees: list[Tree]) -> list[dict[str, float]]:
    bags = (Counter(str(node.label) for node in tree.preorder()) for tree in trees)
    return [{label: np.log1p(count) for label, count in bag.items()} for bag in bags]


accuracy = {}
bag = make_pipeline(FunctionTransformer(counts), DictVectorizer(), LogisticRegression(max_iter=300))
accuracy["bag of labels"] = bag.fit(X, y).score(test, answers)

names = DictVectorizer().fit(counts(X))
table, table_of_test = names.transform(counts(X)), names.transform(counts(test))
common = np.argsort(-np.asarray((table > 0).sum(0)).ravel())[:100]
boosting = HistGradientBoostingClassifier(max_iter=5 if SMOKE else 50, random_state=0)
boosting.fit(table[:, common].toarray(), y)
accuracy["boosting"] = boosting.score(table_of_test[:, common].toarray(), answers)

# %% [markdown]
# ## Train
# With the default settings, each label has a vector, which is learned, and all nodes share one set
# of weights. A linear model on counts of labels and of pairs of labels is mixed in, as far as that
# helps on held-out functions.

# %%
start = time.perf_counter()
model = TreeLSTMClassifier(random_state=0, epochs=EPOCHS, verbose=True).fit(X, y)
accuracy["tree"] = model.score(test, answers)
print(f"trained in {time.perf_counter() - start:.0f} s")
for name, value in accuracy.items():
    print(f"{name:>14}: {value:.3f}")

# %%
display = ConfusionMatrixDisplay.from_predictions(
    answers, model.predict(test), xticks_rotation="vertical", cmap="Blues", colorbar=False
)
display.figure_.savefig(PICTURES / "own_confusion.png", dpi=120, bbox_inches="tight")
plt.close(display.figure_)

# %% [markdown]
# ## Does the tree help?
# Names say a lot about a package, and counting is enough to find them. Without names and constants,
# only structure is left, and the tree is further ahead of the linear model.


# %%
def bare(tree: Tree) -> Tree:
    """The tree without what its author chose to call things."""
    return tree.fold(lambda node, below: Tree(node.label if below else "x", below))


bare_X, bare_test = [bare(tree) for tree in X], [bare(tree) for tree in test]
bag = make_pipeline(FunctionTransformer(counts), DictVectorizer(), LogisticRegression(max_iter=300))
structure = TreeLSTMClassifier(random_state=0, epochs=EPOCHS).fit(bare_X, y)
print(f"structure alone: bag {bag.fit(bare_X, y).score(bare_test, answers):.3f}, ", end="")
print(f"tree {structure.score(bare_test, answers):.3f}")

# %% [markdown]
# Where the answer is a mere count, a tree has nothing to add, and the estimator leaves the answer
# to its linear part. How many calls does a function have?

# %%
calls = [sum(node.label == "Call" for node in tree.preorder()) for tree in X]
true = [sum(node.label == "Call" for node in tree.preorder()) for tree in test]
counter = TreeLSTMRegressor(random_state=0, epochs=2).fit(X, calls)
error = np.sqrt(np.mean((counter.predict(test) - true) ** 2))
print(f"number of calls: off by {error:.4f}")

# %% [markdown]
# ## Why
# Which part of a function decides the answer? `explain` hides each subtree in turn; the more the
# log-odds of the answer fall, the more that subtree matters.

# %%
right = [tree for tree, name in zip(test, answers, strict=True) if model.predict([tree])[0] == name]
chosen = min(right[:200], key=lambda tree: abs(tree.size - 45))
explained = model.explain(chosen)
print(explained)
ax = plot_explanation(explained)
ax.figure.savefig(PICTURES / "own_explanation.png", dpi=120, bbox_inches="tight")
plt.close(ax.figure)

# %% [markdown]
# ## Ask about nodes
# `TreeLSTMNodeClassifier` predicts a class for each node, from the whole tree around it. Is a name
# read, written or deleted? Python's parser marks that; we remove the marks and predict them. The
# answer depends on what is above a name, so without the second pass, from the root down
# (`top_down=False`), there is little to learn.

# %%
KINDS = ("Name", "Attribute", "Subscript", "Starred", "List", "Tuple")


def hide(node: Tree, below: list) -> tuple[Tree, list]:
    """A node without its mark; the marks of it and all nodes below it, None where there is none."""
    use = below.pop()[0].label if below and node.label in KINDS else None
    return Tree(node.label, [tree for tree, _ in below]), [use, *chain(*(of for _, of in below))]


found = python_functions(["json"] if SMOKE else ["json", "logging"], max_size=400, contexts=True)
shown, uses = zip(*(tree.fold(hide) for tree in found.trees), strict=True)
shown, shown_test, uses, uses_test = train_test_split(shown, uses, random_state=0)
for top_down in (False, True):
    nodes = TreeLSTMNodeClassifier(top_down=top_down, random_state=0, epochs=EPOCHS).fit(
        shown, uses
    )
    print(f"top_down={top_down}: {nodes.score(shown_test, uses_test):.3f}")
[(use, count)] = Counter(filter(None, chain(*uses_test))).most_common(1)
print(f"always {use}: {count / sum(use is not None for use in chain(*uses_test)):.3f}")

# %% [markdown]
# ## Keep it
# One file, without pickle, holds the weights, the vocabulary and the classes.

# %%
model.save(PICTURES / "packages.safetensors")
again = TreeLSTMClassifier.load(PICTURES / "packages.safetensors")
source = "def send(self, message):\n    self.transport.write(message)\n    await_reply(self.loop)"
function = python(source, contexts=False).children[0]
best = again.classes_[np.argsort(-again.predict_proba([function])[0])][:2]
print("a function of ours looks most like", " or ".join(best))

# %% [markdown]
# ## The same from the command line
# A file with a label, a tab and a tree on each line is enough: `structnet train tree-lstm --data
# FILE` splits it, trains, and writes the model and its confusion matrix into a run folder;
# `structnet predict RUN NEW-FILE` predicts the labels of new trees. Here we write such a file.

# %%
from structnet.parse import to_bracketed  # noqa: E402

rng = random.Random(0)
simple = [i for i, tree in enumerate(bare_X) if tree.size <= 60]
with (PICTURES / "functions.tsv").open("w", encoding="utf-8") as file:
    for i in rng.sample(simple, min(len(simple), 200)):
        file.write(f"{y[i]}\t{to_bracketed(bare_X[i])}\n")
print("wrote", PICTURES / "functions.tsv")
print("structnet train tree-lstm --data", PICTURES / "functions.tsv", "--out runs/functions")
