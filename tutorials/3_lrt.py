# %% [markdown]
# # What follows from what: logical relations between sentences
#
# `( not a )` and `( a ( and b ) )` cannot both be true. Given two sentences of propositional logic
# over six variables, a model is to say how they relate: are they equivalent (`=`), does one entail
# the other (`<`, `>`), do they exclude each other (`^`, `|`), do they exhaust all cases (`v`), or
# is there no such tie (`#`)? It is trained on sentences with at most four operators and asked about
# sentences with up to twelve, so that learning the examples by heart will not do.
#
# `python tutorials/3_lrt.py` takes some minutes on two cores and writes its pictures to
# `runs/tutorials/`. With `STRUCTNET_SMOKE=1` it takes seconds and learns next to nothing.

# %%
import os
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import torch

from structnet import Forest, TreeExamples, Vocabulary, parse
from structnet.datasets import lrt
from structnet.plot import plot_accuracy_by, plot_tree
from structnet.tensor_tree import TreeLSTM, TreePairClassifier, Tucker, WeightedSum
from structnet.training import accuracy, accuracy_by, fit, predict_all

SMOKE = os.environ.get("STRUCTNET_SMOKE") == "1"
PICTURES = Path("runs/tutorials")
PICTURES.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# ## Sentences as trees
#
# The published files write sentences in a curried form, one operand at a time. The parser puts the
# operator back on top of its operands.

# %%
sentence = parse.logic("( ( not a ) ( or ( b ( and c ) ) ) )")
print(sentence)
ax = plot_tree(sentence)
ax.figure.savefig(PICTURES / "3_sentence.png", dpi=120)
plt.close(ax.figure)

# %% [markdown]
# With six variables there are 64 possible worlds. A sentence is true in some of them, and the
# relation of two sentences is a matter of comparing two sets of worlds. That is how the generator
# below knows the right answer; `structnet data lrt` downloads the published pairs, which were made
# in the same way.

# %%
print(lrt.relation(parse.logic("( not a )"), parse.logic("( a ( and b ) )")))
data = lrt.generated(2_000 if SMOKE else 60_000, max_operators=8)
print(len(data.train), "pairs to train on,", len(data.validation), "to validate on")
print("test pairs by number of operators:", {n: len(pairs) for n, pairs in data.test.items()})

# %% [markdown]
# ## Pairs of trees in one forest
#
# An example is two trees in a row. Sentences, and parts of sentences, occur again and again; the
# forest stores each of them once, and the model computes each of them once a batch.

# %%
vocabulary = Vocabulary(["not", "and", "or"], "abcdef", arity=2)


def examples(pairs):
    trees = [tree for pair in pairs for tree in (pair.left, pair.right)]
    targets = [lrt.RELATIONS.index(pair.relation) for pair in pairs]
    return TreeExamples(Forest.from_trees(trees, vocabulary), targets)


train, validation = examples(data.train), examples(data.validation)
print(train.forest, "of", sum(p.left.size + p.right.size for p in data.train), "nodes")

# %% [markdown]
# ## Two models
#
# The states of the two roots meet in `TreePairClassifier`, which multiplies them by a tensor. Below
# the roots, one model adds up what the children say, the other multiplies projections of it.

# %%
epochs, batch_size = (2, 50) if SMOKE else (10, 100)
steps = epochs * -(-len(train) // batch_size)
results = {}
test = {n: examples(pairs) for n, pairs in data.test.items() if pairs}
for name, aggregator in {"sum": WeightedSum, "Tucker": partial(Tucker, rank=10)}.items():
    torch.manual_seed(0)
    encoder = TreeLSTM(16 if SMOKE else 48, 3, 2, torch.eye(6), aggregator)
    model = TreePairClassifier(encoder, num_classes=len(lrt.RELATIONS))
    fit(
        model,
        train,
        validation,
        epochs=epochs,
        batch_size=batch_size,
        optimizer=partial(torch.optim.AdamW, lr=0.003),
        schedule=partial(torch.optim.lr_scheduler.OneCycleLR, max_lr=0.003, total_steps=steps),
        schedule_per="batch",
        metrics={"accuracy": accuracy},
        monitor="accuracy",
        clip_norm=1.0,
        progress=False,
    )
    results[name] = {}
    for n, pairs in test.items():
        groups = [n] * len(pairs)
        results[name] |= accuracy_by(predict_all(model, pairs), pairs.targets, groups)
    right = sum(score * count for score, count in results[name].values())
    print(f"{name:>7}: {right / sum(map(len, test.values())):.1%} of all test pairs")

# %% [markdown]
# ## Longer than anything it has seen
#
# The line at four operators is where training stopped. What lies to the right of it is what the
# model makes of sentences longer than any that it was shown.

# %%
ax = plot_accuracy_by(results, xlabel="operators in the longer sentence")
ax.axvline(4.5, color="0.7", linewidth=1)
ax.figure.savefig(PICTURES / "3_by_operators.png", dpi=120)
plt.close(ax.figure)

# %% [markdown]
# ## Ask it
#
# Anything the parser reads, the model answers.

# %%
left, right = parse.logic("( a ( and b ) )"), parse.logic("( a ( or b ) )")
pair = Forest.from_trees([left, right], vocabulary)
for relation, probability in zip(lrt.RELATIONS, model.predict_proba(pair)[0].tolist(), strict=True):
    print(f"{relation}  {probability:.3f}")
print("truth:", lrt.relation(left, right))

# %% [markdown]
# `structnet train tree-lstm --data lrt` and `structnet reproduce tree-lstm --table 2` do the same
# at full size; the table and the picture of such a run are in `tutorials/results/`.
