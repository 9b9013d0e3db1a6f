# %% [markdown]
# # Learning to calculate: Tree-LSTMs on ListOps
#
# `[MAX 2 9 [MIN 4 7 ] 0 ]` is 9. ListOps asks a model for the value of such expressions, nested up
# to twenty levels deep, with the operators MAX, MIN, MED (the median, rounded down) and SM (the sum
# modulo 10). A model that reads the characters from left to right has a hard time; one that follows
# the tree has to learn only what each operator does with its operands, and then apply it again and
# again. How it may combine the operands decides how well that goes, and is what this tutorial is
# about.
#
# `python tutorials/2_listops.py` takes about two minutes on one core and writes its pictures to
# `runs/tutorials/`. With `STRUCTNET_SMOKE=1` it takes seconds and learns next to nothing.

# %%
import os
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch

from structnet import Forest, TreeExamples, Vocabulary, parse
from structnet.datasets import listops
from structnet.plot import plot_accuracy_by, plot_history, plot_tree
from structnet.tensor_tree import FullTensor, TreeClassifier, TreeLSTM, Tucker, WeightedSum
from structnet.training import accuracy, accuracy_by, evaluate, fit, predict_all

SMOKE = os.environ.get("STRUCTNET_SMOKE") == "1"
PICTURES = Path("runs/tutorials")
PICTURES.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# ## The data
#
# The published files are two downloads (`structnet data listops`). Here the generator draws trees
# by the same rules, so nothing is needed; a lower depth limit keeps the tutorial short. All trees
# are distinct, so no test tree is in the training set.

# %%
sizes = (400, 100) if SMOKE else (20_000, 2_000)
data = listops.load(num_train=sizes[0], num_test=sizes[1], max_depth=6)
tree = max(data.test_trees[:50], key=lambda tree: tree.size)
print(parse.to_listops(tree), "=", listops.evaluate_expression(tree))

ax = plot_tree(tree)
ax.figure.savefig(PICTURES / "2_expression.png", dpi=120)
plt.close(ax.figure)

# %% [markdown]
# ## One graph for twenty thousand expressions
#
# A vocabulary gives numbers to the labels: operators are *types*, each with parameters of its own,
# and digits are *tokens*, each with an input vector. A forest puts all trees in one graph. Equal
# subtrees are stored once, which for ListOps is most of them: there are only ten leaves.

# %%
vocabulary = Vocabulary(["MAX", "MIN", "MED", "SM"], "0123456789", arity=5)
train_forest = Forest.from_trees(data.train_trees, vocabulary)
print(train_forest)
print("nodes without sharing:", sum(tree.size for tree in data.train_trees))

train = TreeExamples(train_forest, data.train_labels)
test = TreeExamples(Forest.from_trees(data.test_trees, vocabulary), data.test_labels)

# A validation set comes out of the training set. The test set is for the end.
order = np.random.default_rng(0).permutation(len(train))
held_out = len(train) // 20
validation, train = train[order[:held_out]], train[order[held_out:]]

# %% [markdown]
# ## Three ways to combine five operands
#
# The state of a node is computed from those of its children. The *sum* gives each child a matrix
# and adds up. The *full tensor* multiplies every entry of every child with every entry of all
# others; it can say anything, but it has (c+1)^5 c parameters, so c must be tiny. *Tucker* first
# projects each child to r numbers and multiplies those: the products stay, the cost goes.

# %%
models = {
    "sum": (48, WeightedSum),
    "full tensor": (4, FullTensor),
    "Tucker": (20, partial(Tucker, rank=3)),
}
counts = [WeightedSum.count(48, 5), FullTensor.count(4, 5), Tucker.count(20, 5, rank=3)]
for (name, (c, _)), count in zip(models.items(), counts, strict=True):
    print(f"{name:>12}: c = {c:2d}, {count:6d} parameters a gate")

# %% [markdown]
# A digit k is given as ten numbers, the first k + 1 of them one: 7 is *more* than 4, and the input
# says so. The classifier on top has two hidden layers of twenty.

# %%
digits = torch.tril(torch.ones(10, 10))


def build(hidden_size, aggregator):
    torch.manual_seed(0)
    return TreeClassifier(TreeLSTM(hidden_size, 4, 5, digits, aggregator), num_classes=10)


# %% [markdown]
# ## Training
#
# `fit` knows one thing of a model: its loss. It keeps the weights of the best epoch on the
# validation set, and its history is a list of plain dictionaries.

# %%
epochs, batch_size = (2, 50) if SMOKE else (12, 100)
steps = epochs * -(-len(train) // batch_size)
trained, histories, scores = {}, {}, {}
for name, (c, aggregator) in models.items():
    model = build(c, aggregator)
    histories[name] = fit(
        model,
        train,
        validation,
        epochs=epochs,
        batch_size=batch_size,
        optimizer=partial(torch.optim.AdamW, lr=0.01),
        schedule=partial(torch.optim.lr_scheduler.OneCycleLR, max_lr=0.01, total_steps=steps),
        schedule_per="batch",
        metrics={"accuracy": accuracy},
        monitor="accuracy",
        clip_norm=1.0,
    )
    trained[name] = model
    scores[name] = evaluate(model, test, metrics={"accuracy": accuracy})["accuracy"]
    print(f"{name:>12}: {scores[name]:.1%} of the test expressions right")

# %% [markdown]
# Who is ahead now need not be ahead in the end. The sum learns the training expressions fast, and
# its training loss falls far below that of the others while from the fifth epoch on it hardly gets
# better on new ones;
# the products of Tucker learn slowly and had not finished. With 90,000 deeper expressions and more
# epochs the order turns round: `tutorials/results/listops/table.md` has those figures.

# %%
for name in sorted(scores, key=scores.get, reverse=True):
    last = histories[name][-1]
    losses = f"training {last['loss']:.2f}, validation {last['validation_loss']:.2f}"
    print(f"{name:>12}: {scores[name]:.1%} after {epochs} epochs; losses: {losses}")

axes = plot_history(histories["Tucker"])
figure = np.atleast_1d(np.asarray(axes, dtype=object)).flat[0].figure
figure.savefig(PICTURES / "2_history.png", dpi=120)
plt.close(figure)

# %% [markdown]
# ## Where it goes wrong
#
# Mistakes pile up with depth: an operator that is right 98 times in 100 is right 82 times in 100
# ten levels up. Accuracy by height shows how well each model holds on.

# %%
heights = [tree.height for tree in data.test_trees]
by_height = {
    name: accuracy_by(predict_all(model, test), test.targets, heights)
    for name, model in trained.items()
}
ax = plot_accuracy_by(by_height, xlabel="height of the expression")
ax.figure.savefig(PICTURES / "2_by_height.png", dpi=120)
plt.close(ax.figure)

# %% [markdown]
# And since every subtree is an expression too, the same model can be asked at every node. Each box
# below shows an operator, and the value that the model sees there.

# %%
best = trained[max(scores, key=scores.get)]
subtrees = list(dict.fromkeys(tree.preorder()))
values = best.predict(Forest.from_trees(subtrees, vocabulary)).tolist()
seen = dict(zip(subtrees, values, strict=True))


def label(node):
    return f"{node.label}\n{seen[node]}" if node.children else node.label


ax = plot_tree(tree, labels=label)
ax.set_title(f"predicted {seen[tree]}, true {listops.evaluate_expression(tree)}")
ax.figure.savefig(PICTURES / "2_prediction.png", dpi=120)
plt.close(ax.figure)

# %% [markdown]
# ## Further
#
# `structnet train tree-lstm --data listops` does all this from the command line, with a run folder
# that can be resumed, and `structnet reproduce tree-lstm --table 1` trains the models of the paper
# on 90,000 trees of depth up to 20. Its table is in `tutorials/results/`.
