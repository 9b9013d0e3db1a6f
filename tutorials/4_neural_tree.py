# %% [markdown]
# # A tree that grows its own network: adaptive neural trees on handwritten digits
#
# A decision tree asks one question after another and answers at a leaf; what it decided can be
# read. A neural network computes features layer by layer; what it decided is anybody's guess.
# An adaptive neural tree (Tanno et al., ICML 2019) is both: its inner nodes are small networks
# that send a sample left or right, its edges are layers that transform the sample on the way,
# its leaves are classifiers. And nobody has to draw it: it starts as one leaf and grows where
# that helps.
#
# Here it learns the 8 x 8 digits that come with scikit-learn, so nothing is downloaded. We grow
# a tree, refine it, look at what it separated, and then ask what a single path is worth.
#
# `python tutorials/4_neural_tree.py` takes about a minute and writes its pictures to
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
    plot_neural_tree,
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
# A fifth of the digits is set aside for testing and not looked at until the end. Of the rest, a
# tenth decides: it says which candidate is taken, when growth ends, and which epoch is kept.

# %%
data = digits.load()
order = torch.from_numpy(np.random.default_rng(0).permutation(len(data.x_train)))
if SMOKE:
    order = order[:300]
x, y = torch.from_numpy(data.x_train)[order], torch.from_numpy(data.y_train)[order]
part = len(x) // 10
train, validation = Samples(x[part:], y[part:]), Samples(x[:part], y[:part])
test = Samples(torch.from_numpy(data.x_test), torch.from_numpy(data.y_test))
print(f"{len(train)} digits to train on, {len(validation)} to decide by, {len(test)} to test")

# %% [markdown]
# ## Three functions make a tree
#
# A tree is built of routers, transformers and solvers. Each is made by a function that is given
# the shape of one sample and returns an ordinary `nn.Module`; what the module makes of that
# shape is found by running it. `presets` has those of the paper. Here they are weak on purpose:
# 3 x 3 convolutions of five channels, and solvers that see no more than the average of each
# channel. One such leaf cannot tell ten digits apart, so the tree has a reason to grow.

# %%
primitives = presets.conv(num_outputs=10, width=5, kernel=3, pooled_solver=True)
torch.manual_seed(0)
tree = NeuralTree(primitives, shape=(1, 8, 8))
print(tree.nodes[0])

# %% [markdown]
# ## Growth
#
# The root is trained first. Then every leaf is tried in two ways, with all else frozen: *split*
# it, by a router and two new solvers, or *deepen* it, by one more transformer and a new solver.
# The better of the two is taken if it lowers the validation loss. Otherwise the leaf stays as
# it is, and the next one is visited. Settings say how far it may go; without any, growth ends
# when no candidate is better.
#
# As all else is frozen, what arrives at the leaf is computed once and not at every step:
# candidates cost little, wherever in the tree they stand.

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
# `growth` is an object that you step, watch and keep. With `folder=...` its state is on disk
# after every decision, and `resume=True` goes on from there after a crash, to the same tree.

# %%
print(export_text(tree, validation))
print()
print(summary(tree, validation))

# %% [markdown]
# ## Refinement
#
# During growth each part was trained while the others stood still. Now all parameters are
# trained together. The epoch that is best on the validation digits is kept, and if none is
# better than the grown tree, that one is.

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
# At every node of the picture stand the digits that come there, each as a part of all that do, and
# the probabilities of coming there (Fig. 2 of the paper); at every router how sure it is, and
# below it which digits mostly go left and right. A router that has learned something sends nearly
# every digit to one side with a probability close to 0 or 1: how decided all of them are, on
# average, stands above the tree, and `plot_refinement` said it before and after. Branches that
# hardly any digit takes are folded into a mark, which says how many leaves it stands for. A leaf
# to which several digits come may well tell them apart itself: how often it is correct stands
# below it.

# %%
save(plot_neural_tree(tree, validation, min_share=0.01), "4_tree.png")
save(plot_leaf_classes(tree, validation), "4_leaves.png")
save(plot_leaf_means(tree, validation), "4_means.png")
print(explain(tree, validation.x[0]))

# %% [markdown]
# ## A partition
#
# What a tree separates can be seen whole where samples are points of a plane. So here is a second,
# smaller tree, for the first two principal components of the digits, which are found from the
# training digits alone. Without transformers, its routers are straight lines.

# %%
pca = PCA(n_components=2).fit(train.x.flatten(1).numpy())


def project(samples: Samples) -> Samples:
    """The digits as points of the plane."""
    components = pca.transform(samples.x.flatten(1).numpy())
    return Samples(torch.from_numpy(components).float(), samples.targets)


torch.manual_seed(0)
flat = NeuralTree(presets.mlp(num_outputs=10).without(transformers=True), shape=(2,))
plane, seen = project(train), project(validation)
settings = NeuralTreeSettings(
    max_leaves=3 if SMOKE else 6,
    max_transformers=0,
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

# %% [markdown]
# The colour is that of the digit that is predicted, the darker the surer. Grey lines are around the
# leaves, and each says what it predicts; where a black line is crossed, another digit becomes the
# likeliest. Zeros, fours, sixes and sevens lie at the rim, and a line or two cuts them off. In the
# middle eights, fives and twos lie on one another: two components do not hold what tells them
# apart, and no tree can find it there. Within a leaf, black lines are its solver's work: threes and
# nines share one, and yet are told apart.

# %% [markdown]
# ## One path or all
#
# `p(y|x)` is a mixture over all leaves, and to compute it all modules are run. A single path
# runs the modules of that path alone. If routers are sure of themselves, the *greedy* path,
# which follows each router's likelier side, says the same as the mixture. The *least likely*
# path goes where a digit never belongs, and shows how much the leaves have become specialists.
# This is the first time that the test digits are used.

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
# `NeuralTreeClassifier` is a scikit-learn estimator that does all of the above: it sets
# validation samples aside, grows, refines and keeps the history. It works in pipelines and in
# searches, takes names for classes, and has `decision_path` and `apply` like scikit-learn's own
# trees. With solvers that see the whole map it needs few leaves, if any, besides the root:
# growth ends where it should.

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
print(f"test accuracy {classifier.score(data.x_test, data.y_test):.3f}")

# %% [markdown]
# ## A network of your own, and images that do not fit in memory
#
# Any function `shape -> nn.Module` can make the routers, transformers and solvers. And what grows
# from `Samples` grows from any torch `Dataset` or `DataLoader` of pairs: images are opened a batch
# at a time, and `cache_bytes` of the settings says how much of what reaches a leaf may be kept. A
# schedule is a torch scheduler's factory, a metric a function of the tree and a batch.


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
#   takes a table of yours.
# - `structnet reproduce neural-tree --table 4` runs the paper's ablation on MNIST: full trees
#   against trees without routers (a grown network) and without transformers (a soft decision tree).
