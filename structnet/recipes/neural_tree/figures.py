"""The paper's figures: errors (percent wrong; for SARCOS the mean squared error), sizes and times.

Reference:
    Tanno et al., Adaptive Neural Trees, ICML 2019, Tables 3 to 8.
"""

from __future__ import annotations

# The errors with all leaves and with the greedy path, and the numbers of parameters of the tree and
# of one path on average (Table 3); the error with the least likely leaf (Table 6); the
# multiply-adds with all leaves and with one path (Table 7).
TREES: dict[str, tuple[float | None, ...]] = {
    "mnist_a": (0.64, 0.69, 100_596, 84_935, 86.18, 382e3, 380e3),
    "mnist_b": (0.72, 0.73, 76_703, 50_653, 81.98, 346e3, 331e3),
    "mnist_c": (1.62, 1.68, 39_670, 7_956, 98.84, 99e3, 83e3),
    "cifar10_a": (8.31, 8.32, 1.4e6, 1.0e6, 74.28, 254e6, 243e6),
    "cifar10_b": (9.15, 9.18, 0.9e6, 0.6e6, 89.74, 163e6, 149e6),
    "cifar10_c": (9.31, 9.34, 0.7e6, 0.5e6, 97.52, 66e6, 61e6),
    "sarcos": (1.384, 1.542, 103_823, 61_640, None, None, None),
}

# Table 4: the errors with all leaves and with one path. Those of the full trees are the same as in
# Table 3 (rounded for SARCOS).
ABLATIONS = {
    "mnist_a": {"no-routers": (0.74, 0.74), "no-transformers": (3.18, 4.19)},
    "mnist_b": {"no-routers": (0.80, 0.80), "no-transformers": (4.63, 3.62)},
    "mnist_c": {"no-routers": (3.71, 3.71), "no-transformers": (5.70, 6.96)},
    "cifar10_a": {"no-routers": (9.29, 9.29), "no-transformers": (39.29, 40.33)},
    "cifar10_b": {"no-routers": (11.08, 11.08), "no-transformers": (43.09, 44.25)},
    "cifar10_c": {"no-routers": (11.61, 11.61), "no-transformers": (48.59, 50.02)},
    "sarcos": {"no-routers": (2.51, 2.51), "no-transformers": (2.12, 2.25)},
}

# Table 3: the error and the parameters of other models, as far as the paper has them. For SARCOS,
# mlp1, mlp and mlp5 have 1, 3 and 5 hidden layers, and boosting has 30 or 100 trees for each of the
# 7 torques; for MNIST, histograms stand in for the paper's compact multi-class boosted trees.
BASELINES: dict[str, dict[str, tuple[float, int | None] | tuple[()]]] = {
    "sarcos": {
        "linear": (10.693, 154),
        "decision-tree": (3.708, 319_591),
        "mlp1": (2.835, 7_431),
        "boosting30": (2.661, 391_324),
        "mlp5": (2.657, 270_599),
        "forest": (2.426, 40_436_840),
        "mlp": (2.129, 139_015),
        "boosting": (1.444, 988_256),
    },
    "mnist": {
        "linear": (7.91, 7_840),
        "forest": (3.21, None),
        "histograms": (2.88, None),
        "mlp2": (1.40, 1_275_200),
        "lenet": (0.82, 431_000),
    },
    "cifar10": {"linear": (), "all-cnn": (8.71, 1_400_000)},
}

# Table 5: minutes and epochs of growth, and of refinement.
TIMES = {
    "cifar10_a": (78, 236, 90, 200),
    "cifar10_b": (48, 313, 54, 200),
    "cifar10_c": (42, 285, 48, 200),
}

# Table 8: the errors of eight trees together, with all leaves and with one path.
ENSEMBLES = {"mnist_a": (0.29, 0.30), "cifar10_a": (7.76, 7.79), "sarcos": (1.226, 1.372)}
ENSEMBLE_SIZE = 8

# Supp. C: the numbers of training examples, a tenth of them for validation, and of test examples.
SIZES = {"mnist": (60_000, 10_000), "cifar10": (50_000, 10_000), "sarcos": (44_484, 4_449)}
