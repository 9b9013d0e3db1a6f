# %% [markdown]
# # Very many classes: a tree of labels that learns where they belong
#
# With a hundred thousand classes a softmax over all of them is the whole cost of a model. A tree
# with a class at each leaf takes a few small decisions instead: the probability of a class is the
# product of softmaxes on the way to it. Which classes should stand together? A label tree (Jernite
# et al., ICML 2017) finds out while it learns: now and then each label moves to the child that
# its examples prefer, so that every node's decision becomes balanced and pure. On text the default
# is simpler: after a fifth of the training, labels whose examples are alike are grouped once.
#
# Here it first learns points whose hierarchy we planted, and we watch it being found. Then it
# predicts the next word in the help that comes with Python, and we ask what the learning is worth.
#
# `python tutorials/7_label_tree.py` takes about two minutes and writes its pictures to
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
# 64 labels in 4 groups of 4 groups of 4. The centre of a label is the sum of three vectors, one for
# each group that it is in, and points lie around their label's centre. The numbers of the labels
# are shuffled: nothing but the points tells of the groups.

# %%
planted = load_planted(arity=4, depth=3, size=5, number=2_000 if SMOKE else 30_000)
train, test = slice(0, len(planted.x) * 4 // 5), slice(len(planted.x) * 4 // 5, None)
nearest = ((planted.x[test, None] - planted.centres) ** 2).sum(2).argmin(1)
print(f"the nearest centre is right for {(nearest == planted.y[test]).mean():.3f} of the points")

# %% [markdown]
# Four trees of the same shape, trained in the same way. A Huffman tree knows how frequent the
# labels are, here equally, and so nothing; a tree of clusters is made of the labels' mean points,
# before anything is trained; the learned tree begins as Huffman's.

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
# How the learned tree came to it: `J / J*` is how balanced and pure the nodes' decisions are, 1 at
# best. In the beginning most labels move at each reassignment, in the end hardly any.

# %%
rebuilds = models["learned"].training_.rebuilds
figure, ax = plt.subplots(figsize=(6, 3))
ax.plot([each["objective"] for each in rebuilds], label="mean J / J*")
ax.plot([each["moved"] for each in rebuilds], label="share of labels that move")
ax.set(xlabel="reassignment", ylim=(0, 1))
ax.legend()
figure.savefig(PICTURES / "label_tree_learning.png", dpi=120, bbox_inches="tight")
plt.close(figure)


# %% [markdown]
# Did it find the groups? For each child of the root, how many of its labels are of the planted
# group that is the commonest there.


# %%
def agreement(model: LabelTreeClassifier) -> float:
    """The share of labels that stand with most of their outermost group."""
    codes = model.tree_.codes
    child = np.array([codes.code(label)[0][1] for label in range(codes.num_labels)])
    groups = planted.groups[:, 0]
    kept = [Counter(groups[child == place]).most_common(1)[0][1] for place in np.unique(child)]
    return sum(kept) / codes.num_labels


for tree, model in models.items():
    print(f"{tree:>9}: {agreement(model):.2f} of the labels stand with their group")

# %% [markdown]
# A user need not choose: the arity, the rate, the number of epochs, and whether a learned tree is
# better than Huffman's, are found on samples held out.

# %%
own = LabelTreeClassifier(random_state=0, epochs=2 if SMOKE else None)
own.fit(planted.x[train], planted.y[train])
print(f"by itself: {own.score(planted.x[test], planted.y[test]):.3f} right")
print(
    f"it chose {own.settings_.tree}, {own.settings_.arity} children, {own.settings_.epochs} epochs"
)

# %% [markdown]
# ## The next word
# The samples are the four words before it, the classes the words that come up five times or more.


# %%
def next_words(sentences: list[list[str]]) -> list[tuple[list[str], str]]:
    """The words before each word of a text, at most four, and the word."""
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
HOW |= {"arity": 5, "epochs": 1 if SMOKE else 5, "embedding_size": 20, "tokens": True}
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
# What landed together: words whose last node is the same.

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
# Where the classes have a hierarchy that the features see, it decides everything: a tree at random
# cannot separate what is mixed at its root. On text, the frequent words carry most of the
# accuracy, and Huffman's tree has them near its root. The learned tree keeps them there and joins
# what is alike among words about as frequent: it is about as accurate, and its perplexity is 1 to
# 3 percent lower (on Brown, with 20 and 5 children). `LabelTreeClassifier()` tries both on samples
# held out.
