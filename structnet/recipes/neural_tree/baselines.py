"""The other models of the paper's Table 3, as far as they are scikit-learn's or small networks.

A network is trained like a tree in refinement, as a tree of one leaf that does not grow.

Reference:
    Tanno et al., Adaptive Neural Trees, ICML 2019, Table 3 and Supp. C.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from structnet.recipes.neural_tree.settings import NeuralTreeRunSettings, Rows
from structnet.recipes.recipe import Place, Say, result_of, settings_from, values_of

if TYPE_CHECKING:
    from structnet.recipes.arrays import ArrayData

NAMES = {
    "linear": "linear model",
    "decision-tree": "decision tree",
    "mlp1": "MLP, 1 x 256 tanh",
    "mlp": "MLP, 3 x 256 tanh",
    "mlp5": "MLP, 5 x 256 tanh",
    "mlp2": "MLP, 2 x 800 ReLU",
    "forest": "random forest, 200 trees",
    "boosting30": "gradient boosting, 7 x 30 trees",
    "boosting": "gradient boosting, 7 x 100 trees",
    "histograms": "histogram boosting, 100 rounds",
    "lenet": "LeNet-5",
    "all-cnn": "All-CNN",
}
NETWORKS = {"mnist": ("linear", "mlp2", "lenet"), "cifar10": ("linear", "all-cnn"), "sarcos": ()}
LAYERS = {"mlp1": 1, "mlp": 3, "mlp5": 5}  # hidden layers of scikit-learn's perceptrons
ROUNDS = {"boosting30": 30, "boosting": 100}


@dataclass(frozen=True)
class Settings:
    """The settings of a run; its examples are those of a tree with the same seed.

    Args:
        data: data set of the paper.
        model: name of the model, one of ``NAMES``.
        rows: choice of examples.
        refine_epochs: number of epochs of a network; None for other models.
        seed: seed of the model's random numbers, and of the choice of examples.
        place: folder of the files, and device.
    """

    data: str
    model: str
    rows: Rows = field(default_factory=Rows)
    refine_epochs: int | None = None
    seed: int = 0
    place: Place = field(default_factory=Place)


def train(settings: Settings, say: Say) -> dict[str, Any]:
    """Trains and tests one model on a run's data, and returns a result.

    A network learns as trees do, with the validation examples held out; scikit-learn's models,
    which do not use validation examples, learn from all training examples.
    """
    from structnet.recipes.neural_tree.data import load_data

    say(f"fitting {settings.model} ...")
    data = load_data(settings_from(NeuralTreeRunSettings, values_of(settings)).resolved())
    network = settings.model in NETWORKS[settings.data]
    begin = time.perf_counter()
    score, parameters, sizes = (_network if network else _of_sklearn)(settings, data)
    sizes["test"], took = len(data.test), time.perf_counter() - begin
    tested = {"mse" if data.arrays.classes is None else "accuracy": score}
    result = result_of(settings.model, data.arrays.name, settings, sizes, tested, took)
    return result | {"details": {"parameters": parameters}}


# ---- networks


def _network(settings: Settings, data: ArrayData) -> tuple[float, int, dict[str, int]]:
    from structnet.neural_tree import NeuralTreeSettings, from_sequential, presets, refine
    from structnet.recipes.neural_tree.answers import output, score
    from structnet.training.modules import count_parameters
    from structnet.training.processes import own_device
    from structnet.training.seeding import seeded

    shape, outputs = tuple(data.train.x.shape[1:]), data.arrays.num_outputs
    own = NeuralTreeSettings(learning_rate=1e-3)
    with seeded(settings.seed):
        network = network_of(settings.model, shape, outputs)
    tree = from_sequential(network, presets.mlp(outputs), shape)
    assert settings.refine_epochs is not None  # of a network
    device = own_device(settings.place.device)
    refine(
        tree,
        data.train,
        data.validation,
        epochs=settings.refine_epochs,
        batch_size=own.batch(len(data.train)),
        optimizer=own.adam(),
        seed=settings.seed,
        device=device,
    )
    found = score(output(tree, data.test.x), data.test.targets, data.describe())
    sizes = {"train": len(data.train), "validation": len(data.validation)}
    return found, count_parameters(tree), sizes


def network_of(name: str, shape: tuple[int, ...], outputs: int) -> Any:
    """An untrained network of the paper's Table 3.

    Args:
        name: "linear"; "mlp2", with as many units as in Simard et al., ICDAR 2003; "lenet", with
            sizes that give the paper's count of 431,000 parameters; or "all-cnn", the All-CNN-C of
            Springenberg et al., ICLR 2015.
        shape: shape of one image, channels first.
        outputs: number of classes.
    """
    import math
    from itertools import pairwise

    from torch import nn

    def convolution(channels: int, width: int, kernel: int = 3, stride: int = 1) -> nn.Sequential:
        padding = kernel // 2
        return nn.Sequential(nn.Conv2d(channels, width, kernel, stride, padding), nn.ReLU())

    if name == "linear":
        return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), outputs))
    if name == "mlp2":
        hidden = nn.Linear(math.prod(shape), 800), nn.ReLU(), nn.Linear(800, 800), nn.ReLU()
        return nn.Sequential(nn.Flatten(), *hidden, nn.Linear(800, outputs))
    if name == "lenet":
        size = math.prod((side - 4) // 2 // 2 - 2 for side in shape[1:])
        first = nn.Conv2d(shape[0], 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2)
        last = nn.Linear(50 * size, 500), nn.ReLU(), nn.Linear(500, outputs)
        return nn.Sequential(*first, nn.Flatten(), *last)
    widths = (shape[0], 96, 96, 96, 192, 192, 192, 192)
    layers = [
        convolution(channels, width, stride=1 + (place in (2, 5)))
        for place, (channels, width) in enumerate(pairwise(widths))
    ]
    layers[0].insert(0, nn.Dropout(0.2))
    for place in (2, 5):
        layers[place].append(nn.Dropout(0.5))
    layers += [convolution(192, 192, 1), convolution(192, outputs, 1)]
    return nn.Sequential(*layers, nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()))


# ---- scikit-learn


def _of_sklearn(settings: Settings, data: ArrayData) -> tuple[float, int, dict[str, int]]:
    import numpy as np
    import torch

    from structnet.recipes.neural_tree.answers import score

    whole, classes = data.everything(), data.arrays.classes is not None
    x, y = whole.x.flatten(1).numpy(), whole.targets.numpy()
    model = _model(settings.model, classes, settings.seed).fit(x, y)
    rows = data.test.x.flatten(1).numpy()
    if classes:  # columns are placed by class, as training rows may lack some classes
        predicted = np.zeros((len(rows), data.arrays.num_outputs))
        predicted[:, model.classes_] = model.predict_proba(rows)
    else:
        predicted = model.predict(rows)
    found = score(torch.from_numpy(predicted), data.test.targets, data.describe())
    return found, _parameters(model), {"train": len(x), "validation": 0}


def _model(name: str, classes: bool, seed: int) -> Any:
    from sklearn import ensemble, linear_model, neural_network, tree
    from sklearn.multioutput import MultiOutputRegressor

    # The paper gives the numbers of layers, units and trees, but not the depth for boosting.
    if name in LAYERS:
        return neural_network.MLPRegressor(
            hidden_layer_sizes=(256,) * LAYERS[name],
            activation="tanh",
            early_stopping=True,
            n_iter_no_change=20,
            max_iter=500,
            random_state=seed,
        )
    if name in ROUNDS:
        boosted = ensemble.GradientBoostingRegressor(
            n_estimators=ROUNDS[name], max_depth=8, random_state=seed
        )
        return MultiOutputRegressor(boosted)
    if name == "linear":
        return linear_model.LinearRegression()
    if name == "histograms":
        return ensemble.HistGradientBoostingClassifier(early_stopping=False, random_state=seed)
    kind = "Classifier" if classes else "Regressor"
    if name == "decision-tree":
        return getattr(tree, f"DecisionTree{kind}")(random_state=seed)
    return getattr(ensemble, f"RandomForest{kind}")(200, random_state=seed)


def _parameters(model: Any) -> int:
    """The number of parameters: weights, or for trees thresholds, features and leaf values."""
    import numpy as np

    if hasattr(model, "coefs_"):
        return sum(part.size for part in (*model.coefs_, *model.intercepts_))
    if hasattr(model, "coef_"):
        return model.coef_.size + model.intercept_.size
    if hasattr(model, "_predictors"):  # histogram boosting: one number per leaf
        nodes = [each.nodes for one_round in model._predictors for each in one_round]
        return int(sum(2 * (1 - each["is_leaf"]).sum() + each["is_leaf"].sum() for each in nodes))
    if hasattr(model, "tree_"):
        trees = [model.tree_]
    else:  # boosting has one array of trees per output
        parts = (np.ravel(getattr(part, "estimators_", part)) for part in model.estimators_)
        trees = [tree.tree_ for tree in np.concatenate(list(parts))]
    numbers = (2 * (t.node_count - t.n_leaves) + t.n_leaves * t.value[0].size for t in trees)
    return int(sum(numbers))  # scikit-learn's may be an int64, which JSON lacks
