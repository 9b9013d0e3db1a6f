# %% [markdown]
# # Softmax trees: many classes at the cost of a few
#
# A softmax tree (Zharmagambetov et al., EMNLP 2021) is a decision tree whose inner nodes ask linear
# questions (is a weighted sum of the columns above 0?) and whose leaves are small softmaxes, each
# over some of the classes. A prediction computes one path and one leaf, so that it stays cheap with
# many classes. This tutorial trains one on classes that no line separates, lets another grow,
# compares both with an ordinary softmax over all classes (here called flat), and draws them.
#
# `python tutorials/6_softmax_tree.py` takes about a minute and writes its pictures to
# `runs/tutorials/`. With `STRUCTNET_SMOKE=1` it takes seconds and uses less data.

# %%
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from structnet import AdaptiveSoftmaxTreeClassifier, SoftmaxTreeClassifier, datasets
from structnet.recipes.softmax_tree.pictures import draw_errors, draw_widths

SMOKE = os.environ.get("STRUCTNET_SMOKE") == "1"
PICTURES = Path("runs/tutorials")
PICTURES.mkdir(parents=True, exist_ok=True)
rows, classes = (600, 12) if SMOKE else (6000, 60)

# %% [markdown]
# ## Data
#
# Each class has several modes (clusters of points), and each mode is near modes of other classes:
# no line separates a class from the rest, but within each part of the space lines separate the
# classes.

# %%
data = datasets.clusters.generate(
    rows, rows // 4, classes=classes, modes=3, groups=12, features=24, uneven=True
)
x, y, x_test, y_test = data.x_train, data.y_train, data.x_test, data.y_test
print("samples of the first ten classes, as uneven as the frequencies of words:")
print(np.bincount(y)[:10])

# %% [markdown]
# ## A flat softmax, a softmax tree, and one that grows
#
# A tree of depth 0 is a flat softmax. `max_leaf_classes` is the largest number of classes
# of a leaf; `alpha` is the factor by which that number falls with each level of a growing tree.
#
# FLOPs are those of one prediction. Coverage is the share of the test samples whose true class the
# leaf has, and the perplexity is that of these, among the classes of their leaf.

# %%
flat = SoftmaxTreeClassifier(depth=0, max_leaf_classes=classes, start="clusters", leaf_penalty=1.0)
tree = SoftmaxTreeClassifier(
    depth=3, max_leaf_classes=classes // 2, leaf_penalty=1.0, random_state=0
)
grown = AdaptiveSoftmaxTreeClassifier(alpha=0.7, start_depth=2, leaf_penalty=1.0, random_state=0)
for name, model in {"flat": flat, "tree": tree, "grown": grown}.items():
    found = model.fit(x, y).measure(x_test, y_test)
    print(f"{name}: error {found.error:.3f}, FLOPs {found.flops:.0f}, {found.leaves} leaves")
    print(f"    coverage {found.coverage:.3f}, perplexity of the covered {found.perplexity:.2f}")

# %% [markdown]
# Both trees have a lower error than the flat softmax, with a third of its FLOPs or less. Every
# trial of the growth is recorded: the ratio is that of the loss with a subtree in place of the leaf
# to the loss with the leaf; a low one is accepted.

# %%
for trial in grown.trained_.trials[:5]:
    verdict = "accepted" if trial.accepted else "refused"
    print(f"round {trial.round}, leaf {trial.leaf}: ratio {trial.ratio:.2f}, {verdict}")

# %% [markdown]
# ## One prediction at a time
#
# `predict_one` does not check its input and takes microseconds. `predict_top` gives the likeliest
# classes with their probabilities, `explain` the path of a sample, `export_text` the whole tree.

# %%
print(tree.predict_one(x_test[0]), "is predicted;", y_test[0], "is true")
labels, probabilities = tree.predict_top(x_test[:2], k=3)
print(labels, probabilities.round(2))
print(tree.explain(x_test[0]))
print("\n".join(tree.export_text().splitlines()[:4]))

# %% [markdown]
# ## Without settings
#
# Settings that are not given are chosen on held-out samples. This shows what was chosen:

# %%
model = SoftmaxTreeClassifier(random_state=0).fit(x, y)
chosen = model.settings_
print(f"error {1 - model.score(x_test, y_test):.3f}: depth {chosen.depth}, ", end="")
print(f"at most {chosen.max_leaf_classes} classes a leaf, ", end="")
print(f"penalties {chosen.leaf_penalty:g}, begun from {chosen.start}")

# %% [markdown]
# ## Pictures
#
# In the first picture the size of a leaf is its number of classes. The second has the training and
# validation errors of the growing tree; vertical lines are where it was expanded. The validation
# errors end where the tree begins to learn from the held-out samples as well.

# %%
for name, ax in {
    "6_leaves.png": draw_widths(tree.tree_),
    "6_errors.png": draw_errors(grown.history_),
}.items():
    ax.figure.savefig(PICTURES / name, dpi=120, bbox_inches="tight")
    plt.close(ax.figure)
