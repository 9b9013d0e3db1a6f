# %% [markdown]
# # Very many classes: a tree of labels that learns where they belong
#
# With a hundred thousand classes, nearly all of a model's cost is its softmax. A tree with a class
# at each leaf takes a few small decisions instead: the probability of a class is the product of the
# softmaxes on the path to it. Which classes should be close to each other in the tree? A label tree
# (Jernite et al., ICML 2017) learns that during training: at intervals each label is moved to the
# child that its examples prefer, so that the decision of every node becomes balanced (its children
# are about equally frequent) and pure (the examples of a label go to one child). On text the
# default is simpler: after a fifth of the training, labels with similar examples are grouped once.
#
# The first data are points with a known hierarchy, and we check that it is found. The second task
# is the next word in the help texts that come with Python, where we see what the learning is worth.
#
# `python tutorials/7_label_tree.py` takes about three minutes and writes its pictures to
# `runs/tutorials/`. With `STRUCTNET_SMOKE=1` it takes seconds and learns next to nothing.

# %%
import os
import time
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from structnet import LabelTreeClassifier
from structnet.datasets import load_planted, load_text
from structnet.label_tree import Features

SMOKE = os.environ.get("STRUCTNET_SMOKE") == "1"
PICTURES = Path("runs/tutorials")
PICTURES.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# ## A hierarchy that is known
# There are 64 labels: 4 groups of 4 groups of 4. The centre of a label is the sum of three vectors,
# one for each level of the hierarchy, and its points lie around the centre. The numbers of the
# labels are shuffled, so only the points tell which labels form a group.

# %%
planted = load_planted(arity=4, depth=3, size=5, number=2_000 if SMOKE else 30_000)
train, test = slice(0, len(planted.x) * 4 // 5), slice(len(planted.x) * 4 // 5, None)
nearest = ((planted.x[test, None] - planted.centres) ** 2).sum(2).argmin(1)
print(f"the nearest centre is right for {(nearest == planted.y[test]).mean():.3f} of the points")

# %% [markdown]
# Four trees with four children a node, trained in the same way. A Huffman tree is built from the
# frequencies of the labels, which are equal here, so it is no better than a random one. The tree of
# clusters is built from the mean point of each label, before training. The learned tree begins as
# Huffman's. (The time of the first includes compilation, which is needed once.)

# %%
HOW = {"arity": 4, "epochs": 2 if SMOKE else 10, "learning_rate": 0.1, "random_state": 0}
models = {}
for tree in ("random", "huffman", "clusters", "learned"):
    start = time.perf_counter()
    models[tree] = LabelTreeClassifier(tree=tree, start="huffman", **HOW)
    models[tree].fit(planted.x[train], planted.y[train])
    accuracy = models[tree].score(planted.x[test], planted.y[test])
    print(f"{tree:>9}: {accuracy:.3f} right, {time.perf_counter() - start:.1f} s")

# %% [markdown]
# `J / J*` measures how balanced and pure the decisions of the nodes are; 1 is the best value. It
# rises during the reassignments. At the first ones most labels move, at the last hardly any.

# %%
rebuilds = models["learned"].trained_.rebuilds
figure, ax = plt.subplots(figsize=(6, 3))
ax.plot([each["objective"] for each in rebuilds], label="mean J / J*")
ax.plot([each["moved"] for each in rebuilds], label="share of labels that move")
ax.set(xlabel="reassignment", ylim=(0, 1))
ax.legend()
figure.savefig(PICTURES / "label_tree_learning.png", dpi=120, bbox_inches="tight")
plt.close(figure)


# %% [markdown]
# Did it find the groups? Each child of the root is compared with the planted group that is the
# commonest among its labels: which share of all labels is in such a group?


# %%
def agreement(model: LabelTreeClassifier) -> float:
    """The share of labels that are of the commonest outermost group of their child of the root."""
    codes = model.tree_.codes
    child = np.array([codes.code(label)[0][1] for label in range(codes.num_labels)])
    groups = planted.groups[:, 0]
    kept = [Counter(groups[child == place]).most_common(1)[0][1] for place in np.unique(child)]
    return sum(kept) / codes.num_labels


for tree, model in models.items():
    print(f"{tree:>9}: {agreement(model):.2f} of the labels are with their group")

# %% [markdown]
# None of these settings need be given: the number of children, the learning rate, the number of
# epochs and whether a learned tree is better than Huffman's are chosen, mostly on held-out samples.
# For so few labels a single node with all of them as children, a flat softmax, is tried too, and is
# taken here: it begins as a linear discriminant analysis, which no epoch improves. Trees are for
# numbers of classes at which that is too slow; `arity=4` asks for one.

# %%
own = LabelTreeClassifier(random_state=0, epochs=2 if SMOKE else None)
own.fit(planted.x[train], planted.y[train])
print(f"by itself: {own.score(planted.x[test], planted.y[test]):.3f} right")
print(f"it chose nodes of at most {own.settings_.arity} children and {own.settings_.epochs} epochs")

# %% [markdown]
# ## The next word
# A sample is the four words before a word; the classes are the words that occur at least five
# times.


# %%
def next_words(sentences: list[list[str]]) -> list[tuple[list[str], str]]:
    """At most four words before each word of a text, and the word."""
    return [(s[max(0, i - 4) : i], s[i]) for s in sentences for i in range(1, len(s))]


text = load_text("pydoc")
pairs = next_words(text.train)[: 2_000 if SMOKE else None]
frequent = {word for word, count in Counter(w for _, w in pairs).items() if count >= 5}
number = {w: i for i, w in enumerate(dict.fromkeys(w for before, _ in pairs for w in before))}


def samples(pairs: list[tuple[list[str], str]]) -> tuple[list[list[int]], list[str]]:
    """Lists of the words' numbers, and the frequent words that follow."""
    kept = [(before, word) for before, word in pairs if word in frequent]
    found = [[number[w] for w in before if w in number] for before, _ in kept]
    return found, [word for _, word in kept]


X, y = samples(pairs)
X_test, y_test = samples(next_words(text.test))
print(f"{len(X):,} samples of {len(frequent):,} words; the commonest: {Counter(y).most_common(3)}")

# %%
HOW |= {"arity": 5, "epochs": 1 if SMOKE else 5, "vector_size": 20, "tokens": True}
for tree in ("huffman", "learned"):
    start = time.perf_counter()
    model = LabelTreeClassifier(tree=tree, **HOW).fit(X, y)
    seconds = time.perf_counter() - start
    places = np.searchsorted(model.classes_, y_test)
    _, found, nodes = model.tree_.top_k(Features.from_lists(X_test, model.n_features_in_))
    depth = np.average(model.tree_.codes.depth, weights=model.tree_.softmax.counts.numpy())
    print(
        f"{tree:>9}: {(found[:, 0] == places).mean():.3f} right, {seconds:.1f} s, {depth:.1f} "
        f"decisions a word, {nodes:.1f} nodes visited a prediction"
    )

# %% [markdown]
# Which words are together in the learned tree? Each line has the words of one of its lowest nodes.

# %%
codes = model.tree_.codes
last = codes.nodes[codes.offsets[1:] - 1]
counts = model.tree_.softmax.counts.numpy()
for node in np.argsort(-np.bincount(last, counts))[:12]:
    here = np.flatnonzero(last == node)
    if len(here) > 1:
        print(" ".join(model.classes_[here[np.argsort(-counts[here])]]))

# %% [markdown]
# ## When does learning the tree pay?
# Where the classes have a hierarchy that shows in the features, the tree matters most: a random
# tree cannot separate classes that are mixed at its root. On text, most of the accuracy comes from
# frequent words, which Huffman's tree has near its root. The learned tree keeps them there and
# groups similar words among those of about the same frequency. It is about as accurate, and its
# perplexity is 1 to 3 percent lower (measured on the Brown corpus, with 20 and with 5 children a
# node). `LabelTreeClassifier()` tries both on held-out samples.
