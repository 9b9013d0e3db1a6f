# %% [markdown]
# # What follows from what: logical relations between sentences
#
# `( not a )` and `( a ( and b ) )` cannot both be true. Given two sentences of propositional logic
# over six variables, a model is to say how they relate: are they equivalent (`=`), does one entail
# the other (`<`, `>`), is one the negation of the other (`^`), do they only exclude each other
# (`|`), do they only cover all cases (`v`), or is there no such relation (`#`)? The task is known
# as LRT, the logical relations of Bowman, Potts and Manning. The model is trained on sentences with
# at most four operators and tested on sentences with up to eight (in the published data: twelve),
# so that memorising the examples is not enough.
#
# `python tutorials/3_lrt.py` takes about two minutes on one core and writes its pictures to
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
# The published files write sentences in a curried form, one operand at a time. The parser makes the
# operator the parent of its operands.

# %%
sentence = parse.logic("( ( not a ) ( or ( b ( and c ) ) ) )")
print(sentence)
ax = plot_tree(sentence)
ax.figure.savefig(PICTURES / "3_sentence.png", dpi=120)
plt.close(ax.figure)

# %% [markdown]
# Six variables have 64 possible assignments. A sentence is true under some of them, and the
# relation of two sentences follows from comparing these two sets. The generator below finds the
# right answers in this way; `structnet data lrt` downloads the published pairs, which were made
# likewise.

# %%
print(lrt.relation(parse.logic("( not a )"), parse.logic("( a ( and b ) )")))
data = lrt.generated(2_000 if SMOKE else 60_000, max_operators=8)
print(len(data.train), "pairs to train on,", len(data.validation), "to validate on")
print("test pairs by number of operators:", {n: len(pairs) for n, pairs in data.test.items()})

# %% [markdown]
# ## Pairs of trees in one forest
#
# An example is two consecutive trees of the forest. The same sentences and parts of sentences occur
# many times; the forest stores each of them once, and the model computes each once a batch.

# %%
vocabulary = Vocabulary(["not", "and", "or"], "abcdef", arity=2)


def examples(pairs):
    trees = [tree for pair in pairs for tree in (pair.left, pair.right)]
    targets = [lrt.RELATIONS.index(pair.relation) for pair in pairs]
    return TreeExamples(Forest.from_trees(trees, vocabulary), targets, roots_per_example=2)


train, validation = examples(data.train), examples(data.validation)
print(train.forest, "of", sum(p.left.size + p.right.size for p in data.train), "nodes")

# %% [markdown]
# ## Two models
#
# `TreePairClassifier` combines the states of the two roots by a tensor. Below the roots, one model
# sums transformed states of the children, the other multiplies projections of them (Tucker).

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
# The grey area has as many operators as the training sentences; to the right of it are sentences
# longer than any that the models have seen. The two models are about equal here; on the larger
# published data, Tucker is 1.3 points ahead (`tutorials/results/lrt/table.md`).

# %%
ax = plot_accuracy_by(results, xlabel="operators in the longer sentence", trained_up_to=4)
ax.figure.savefig(PICTURES / "3_by_operators.png", dpi=120)
plt.close(ax.figure)

# %% [markdown]
# ## Ask it
#
# The model of the last training, Tucker's, answers for any two sentences that the parser reads.

# %%
left, right = parse.logic("( a ( and b ) )"), parse.logic("( a ( or b ) )")
pair = Forest.from_trees([left, right], vocabulary)
for relation, probability in zip(lrt.RELATIONS, model.predict_proba(pair)[0].tolist(), strict=True):
    print(f"{relation}  {probability:.3f}")
print("truth:", lrt.relation(left, right))

# %% [markdown]
# `structnet train tree-lstm --data lrt` and `structnet reproduce tree-lstm --table 2` do the same
# at full size; the table and the picture of such a run are in `tutorials/results/lrt/`.
