# %% [markdown]
# # Softmax trees: many classes at the cost of a few
#
# A softmax tree asks a few linear questions and ends at a leaf, a softmax over some of the classes.
# This tutorial trains one on classes that no line separates, lets another grow, measures both
# beside a flat softmax, and draws them.

# %%
import os

import numpy as np

from structnet import AdaptiveSoftmaxTreeClassifier, SoftmaxTreeClassifier, datasets
from structnet.recipes.softmax_tree.pictures import draw_errors, draw_widths

SMOKE = bool(os.environ.get("STRUCTNET_SMOKE"))
rows, classes = (600, 12) if SMOKE else (6000, 60)

# %% [markdown]
# ## Data
#
# Each class has several modes, and each mode lies near those of other classes: no line separates a
# class from the rest, but in every part of the space lines separate all.

# %%
data = datasets.clusters.generate(
    rows, rows // 4, classes=classes, modes=3, groups=12, features=24, uneven=True
)
x, y, x_test, y_test = data.x_train, data.y_train, data.x_test, data.y_test
print(np.bincount(y)[:10], "samples of the first classes: they are as uneven as words")

# %% [markdown]
# ## A flat softmax, a softmax tree, and one that grows
#
# A tree of depth 0 is a flat softmax. `k` is how many classes a leaf may have.

# %%
flat = SoftmaxTreeClassifier(depth=0, k=classes, start="centroids", leaf_penalty=1.0)
tree = SoftmaxTreeClassifier(depth=3, k=classes // 2, leaf_penalty=1.0, random_state=0)
grown = AdaptiveSoftmaxTreeClassifier(alpha=0.7, depth=2, leaf_penalty=1.0, random_state=0)
for name, model in {"flat": flat, "tree": tree, "grown": grown}.items():
    found = model.fit(x, y).measure(x_test, y_test)
    print(f"{name}: error {found.error:.3f}, FLOPs {found.flops:.0f}, {found.leaves} leaves")
    print(f"    coverage {found.coverage:.3f}, perplexity of the covered {found.perplexity:.2f}")

# %% [markdown]
# Of what was tried while it grew, all is known:

# %%
for trial in grown.trained_.trials[:5]:
    verdict = "accepted" if trial.accepted else "refused"
    print(f"round {trial.round}, leaf {trial.leaf}: ratio {trial.ratio:.2f}, {verdict}")

# %% [markdown]
# ## One prediction at a time
#
# `predict_one` checks nothing and takes microseconds. `explain` says why.

# %%
print(tree.predict_one(x_test[0]), "is predicted;", y_test[0], "is true")
labels, probabilities = tree.predict_top(x_test[:2], k=3)
print(labels, probabilities.round(2))
print(tree.explain(x_test[0]))
print(tree.export_text()[:300])

# %% [markdown]
# ## Nothing told
#
# What is left open is chosen by held-out samples; here you see what it came to.

# %%
model = SoftmaxTreeClassifier(random_state=0).fit(x, y)
chosen = model.trained_.settings
print(f"error {1 - model.score(x_test, y_test):.3f}: depth {chosen.depth}, k {chosen.k}, ", end="")
print(f"penalties {chosen.leaf_penalty:g}, begun from {chosen.start}")

# %% [markdown]
# ## Pictures
#
# The leaves are as large as they have classes; the errors fall while the tree is trained and grows.

# %%
draw_widths(tree.tree_)
draw_errors(grown.history_)
