# %% [markdown]
# # A tree that grows its own network: adaptive neural trees on handwritten digits
#
# A decision tree asks one question after another and answers at a leaf, so its decisions can be
# read. A neural network computes features layer by layer, and its decisions are hard to explain.
# An adaptive neural tree (Tanno et al., ICML 2019) combines the two: its inner nodes are small
# networks that send a sample left or right, its edges are layers that transform the sample on the
# way, its leaves are classifiers. Its structure is learned: it starts as one leaf and grows where
# that helps.
#
# Here it learns the 8 x 8 digits that come with scikit-learn, so nothing is downloaded. We grow a
# tree, refine it, look at what it separates, and compare a single path with the whole tree. If you
# only want to fit one to your own table, `NeuralTreeClassifier` near the end is all you need.
#
# `python tutorials/4_neural_tree.py` takes one or two minutes and writes its pictures to
# `runs/tutorials/`. With `STRUCTNET_SMOKE=1` it takes seconds and learns next to nothing.

# %%
import copy
import os
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.decomposition import PCA
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split

from structnet.datasets import digits
from structnet.neural_tree import (
    Growth,
    NeuralTree,
    NeuralTreeClassifier,
    NeuralTreeSettings,
    Primitives,
    presets,
    refine,
)
from structnet.plot import (
    plot_growth,
    plot_leaf_classes,
    plot_leaf_means,
    plot_model_tree,
    plot_partition,
    plot_refinement,
)
from structnet.routing import Samples, explain, export_text, summary
from structnet.training import accuracy, evaluate

SMOKE = os.environ.get("STRUCTNET_SMOKE") == "1"
PICTURES = Path("runs/tutorials")
PICTURES.mkdir(parents=True, exist_ok=True)
torch.set_num_threads(1)  # networks this small are no faster on two


def save(ax, name: str) -> None:
    """Writes a picture and forgets it."""
    ax.figure.savefig(PICTURES / name, dpi=120, bbox_inches="tight")
    plt.close(ax.figure)


# %% [markdown]
# ## The data
#
# A fifth of the digits is set aside for testing and not used until the end. A tenth of the rest is
# for validation: it decides which candidate is taken, when growth ends, and which epoch is kept.

# %%
data = digits.load()
order = torch.from_numpy(np.random.default_rng(0).permutation(len(data.x_train)))
if SMOKE:
    order = order[:300]
x, y = torch.from_numpy(data.x_train)[order], torch.from_numpy(data.y_train)[order]
part = len(x) // 10
train, validation = Samples(x[part:], y[part:]), Samples(x[:part], y[:part])
test = Samples(torch.from_numpy(data.x_test), torch.from_numpy(data.y_test))
print(f"{len(train)} digits to train on, {len(validation)} to validate, {len(test)} to test")

# %% [markdown]
# ## Three functions make a tree
#
# A tree is built of *routers* (the questions at inner nodes), *transformers* (the layers on edges)
# and *solvers* (the classifiers at leaves). Each is made by a function that is given the shape of
# one sample and returns an ordinary `nn.Module`, which is run once to find the shape of its output.
# `presets` has those of the paper. Here they are weak on purpose: 3 x 3 convolutions of five
# channels, and solvers that see only the average of each channel. One such leaf cannot tell ten
# digits apart, so the tree has a reason to grow.

# %%
primitives = presets.conv(num_outputs=10, width=5, kernel=3, pooled_solver=True)
torch.manual_seed(0)
tree = NeuralTree(primitives, shape=(1, 8, 8))
print(tree.nodes[0])

# %% [markdown]
# ## Growth
#
# The root is trained first. Then every leaf is visited, and candidates are trained there while all
# else is frozen: to *split* it, by a router and two new solvers, or, where no split gains, to
# *deepen* it, by one more transformer and a new solver. (The paper always tries both and takes the
# better one: `prefer_split=False`.) A candidate is taken if it lowers the validation loss by more
# than `min_gain`, and by more than chance: by default two standard errors of that gain
# (`gain_errors`). Otherwise the leaf is kept as it is. Further settings limit the size of the tree;
# without limits, growth ends when every leaf has been kept.
#
# As all else is frozen, what arrives at the leaf is computed only once and not at every step, so
# that candidates are cheap anywhere in the tree.
#
# In the lines below, losses in brackets are those of the candidates; where there are none, the
# limits allow no candidate.

# %%
settings = NeuralTreeSettings(
    max_leaves=3 if SMOKE else 6,
    max_transformers=3,
    min_gain=0.002,
    epochs=2 if SMOKE else 40,
    batch_size=64,
    learning_rate=1e-2,
)
growth = Growth(tree, train, validation, settings)
while not growth.done:
    decision = growth.step()
    tried = ", ".join(f"{name} {loss:.3f}" for name, loss in decision.candidates.items())
    print(f"node {decision.node}: {decision.action:6} loss {decision.loss:.3f}  ({tried})")

# %% [markdown]
# `growth` can be stepped and inspected, as above, or run to its end by `growth.run()`. With
# `folder=...` its state is saved after every decision; after a crash, `resume=True` goes on from
# there and ends with the same tree.
#
# The tree as text, and its cost. A router is *decided* as far as it sends samples to one side with
# certainty: the percentage is the mean probability of the likelier side.

# %%
print(export_text(tree, validation))
print()
print(summary(tree, validation))

# %% [markdown]
# ## Refinement
#
# During growth each part was trained while the others were frozen. Now all parameters are trained
# together. The epoch with the highest validation accuracy is kept or, if none is better than the
# grown tree, that tree.

# %%
grown = copy.deepcopy(tree)
refined = refine(
    tree,
    train,
    validation,
    epochs=2 if SMOKE else 60,
    batch_size=64,
    optimizer=partial(torch.optim.Adam, lr=1e-2),
    progress=False,
)
scores = {
    name: evaluate(model, validation, metrics={"accuracy": accuracy})
    for name, model in (("grown", grown), ("refined", tree))
}
for name, score in scores.items():
    print(f"{name:8} validation loss {score['loss']:.3f}, accuracy {score['accuracy']:.3f}")

records = [*growth.history, *({"phase": "refine"} | record for record in refined)]
save(plot_growth(records, growth.decisions)[0], "4_growth.png")
save(plot_refinement(grown, tree, validation)[0], "4_refinement.png")

# %% [markdown]
# ## What did it separate?
#
# Each node of the picture has a histogram of the digits that arrive there and one of the
# probabilities of arriving (Fig. 2 of the paper). Each router also has a histogram of its
# probabilities of going left and, below it, the digits that mostly go left and right. A router that
# has learned something sends nearly every digit to one side with a probability close to 0 or 1; the
# mean over all routers is given above the tree (`plot_refinement` draws the tree before and after
# refinement). Branches that less than `min_share` of the digits take would be folded into one mark
# with the number of their leaves. A leaf where several digits arrive may still tell them apart by
# its solver: below it is the share of its digits for which its answer is correct.
#
# `4_leaves.png` shows which leaves each digit reaches, `4_means.png` the mean image at each leaf.

# %%
save(plot_model_tree(tree, validation, min_share=0.01), "4_tree.png")
save(plot_leaf_classes(tree, validation), "4_leaves.png")
save(plot_leaf_means(tree, validation), "4_means.png")
print(explain(tree, validation.x[0]))

# %% [markdown]
# ## A partition
#
# Where samples are points of a plane, the whole partition can be drawn. So here is a second,
# smaller tree on the first two principal components of the digits (fitted to the training digits
# only). Without transformers, its routers are straight lines. Linear routers and solvers by default
# look ahead for several regions at once, and find none here that are worth it; `lookahead=1` tries
# splits one router at a time, as in the paper.

# %%
pca = PCA(n_components=2).fit(train.x.flatten(1).numpy())


def project(samples: Samples) -> Samples:
    """Digits as points of the plane."""
    components = pca.transform(samples.x.flatten(1).numpy())
    return Samples(torch.from_numpy(components).float(), samples.targets)


torch.manual_seed(0)
flat = NeuralTree(presets.mlp(num_outputs=10).without(transformers=True), shape=(2,))
plane, seen = project(train), project(validation)
settings = NeuralTreeSettings(
    max_leaves=3 if SMOKE else 6,
    max_transformers=0,
    lookahead=1,
    min_gain=0.002,
    epochs=2 if SMOKE else 20,
    batch_size=64,
    learning_rate=3e-2,
)
Growth(flat, plane, seen, settings).run()
options = {"batch_size": 64, "optimizer": partial(torch.optim.Adam, lr=3e-2)}
refine(flat, plane, seen, epochs=2 if SMOKE else 20, progress=False, **options)
names = ("first component", "second component")
save(plot_partition(flat, seen, feature_names=names), "4_partition.png")
accurate = evaluate(flat, seen, metrics={"accuracy": accuracy})["accuracy"]
print(f"{flat.num_leaves} leaves, validation accuracy {accurate:.3f}")

# %% [markdown]
# The colour is that of the predicted digit, the darker the surer. Grey lines are the borders
# between leaves; each leaf has a label with its number and, where there is room, its commonest
# predictions and its share of the samples. At black lines the predicted digit changes. Digits at
# the rim, such as zeros, threes, fours and sixes, are separated well. In the middle, twos, fives
# and eights overlap: two components do not have the information that tells them apart, so no tree
# can. Within a leaf, black lines come from its solver: one leaf tells several digits apart.

# %% [markdown]
# ## One path or all
#
# `p(y|x)` is a mixture over all leaves, for which all modules are run (`multi`). A single path runs
# only the modules on that path. If routers are decided, the *greedy* path, which takes the likelier
# side at each router, predicts the same as the mixture; so does the path to the *most likely* leaf.
# The *stochastic* path is drawn from the routers' probabilities. The *least likely* path ends at
# the wrong leaf, and shows how far the leaves have specialised. Only here are the test digits used.

# %%
tree.eval()
with torch.no_grad():
    for path in ("multi", "greedy", "stochastic", "most_likely", "least_likely"):
        predicted = tree.output(test.x, path, generator=torch.Generator().manual_seed(0)).argmax(1)
        error = 100 * (predicted != test.targets).double().mean().item()
        print(f"{path:13} {error:5.1f} % of the test digits wrong")

# %% [markdown]
# ## The same in three lines
#
# `NeuralTreeClassifier` is a scikit-learn estimator that does all of the above: it sets validation
# samples aside, grows, refines and keeps the history. It works in pipelines and grid searches,
# takes classes of any names, and has `decision_path` and `apply` like scikit-learn's own trees.
# With no argument it suits tables; the arguments here make it a small convolutional tree. Its
# solvers see all pixels of a channel, not only their average, so it needs few leaves.

# %%
classifier = NeuralTreeClassifier(
    primitives=lambda num_outputs: presets.conv(num_outputs, width=8, kernel=3),
    max_leaves=4,
    epochs=2 if SMOKE else 20,
    refine_epochs=2 if SMOKE else 20,
    batch_size=64,
    learning_rate=1e-2,
    random_state=0,
)
classifier.fit(x.numpy(), y.numpy())
print(f"{classifier.get_n_leaves()} leaves, ", end="")
print(f"test accuracy {classifier.score(data.x_test, data.y_test):.3f}")

# %% [markdown]
# ## A network of your own, and images that do not fit in memory
#
# Any function `shape -> nn.Module` can make the routers, transformers and solvers. Instead of
# `Samples`, a tree can grow from any torch `Dataset` or `DataLoader` of pairs of an input and a
# target: images are then opened one batch at a time, and the setting `cache_bytes` limits the
# memory for what reaches a leaf. `schedule` is a function that makes a torch scheduler of an
# optimizer, a metric a function of the tree and a batch.


# %%
class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(shape[0], 16, 3, padding=1), nn.BatchNorm2d(16)

    def forward(self, x):
        return nn.functional.max_pool2d(self.norm(self.convolution(x)).relu(), 2)


def average(shape, outputs):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(shape[0], outputs))


class Files(Dataset):
    def __init__(self, folder):
        self.files = sorted(folder.glob("*.npz"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        with np.load(self.files[index]) as file:
            return file["image"], int(file["label"])


with TemporaryDirectory() as folder:
    for i, (image, label) in enumerate(zip(x.numpy()[:300], y.numpy()[:300], strict=True)):
        np.savez(Path(folder, f"{i:04}.npz"), image=image, label=label)
    files = Files(Path(folder))
    learn, held = random_split(files, (0.8, 0.2), torch.Generator().manual_seed(0))
    own = NeuralTree(
        Primitives(partial(average, outputs=1), Block, partial(average, outputs=10)), (1, 8, 8)
    )
    growth = Growth(
        own,
        DataLoader(learn, batch_size=32),
        DataLoader(held, batch_size=32),
        NeuralTreeSettings(max_leaves=2, epochs=2 if SMOKE else 20, batch_size=32, cache_bytes=1e7),
        schedule=partial(torch.optim.lr_scheduler.ExponentialLR, gamma=0.9),
        metrics={"accuracy": accuracy},
    )
    growth.run()
for decision in growth.decisions:
    print(decision)

# %% [markdown]
# ## Where to go from here
#
# - `structnet train neural-tree --data digits` does this from the command line; `--data FILE.csv`
#   learns from your own table.
# - `structnet reproduce neural-tree --table 4` runs the paper's ablation on MNIST: full trees
#   against trees without routers (a grown network) and without transformers (a soft decision tree).
