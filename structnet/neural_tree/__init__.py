"""Adaptive neural trees: binary trees of neural networks, grown to fit the data.

Routers on inner nodes give the probability of going left, transformers on edges change the sample
on its way, solvers on leaves predict. Where the paper's equations stand:

Eq. (1), the mixture of the leaves' predictions       ->  ``likelihood``
Eq. (2), leaf probability: product of router outputs  ->  ``structnet.routing.leaf_log_prob``
Sec. 3.2, one path instead of all                     ->  ``NeuralTree.follow``
Algorithm 1, growth                                   ->  ``Growth``
Sec. 4, refinement                                    ->  ``refine``
Table 2, modules                                      ->  ``presets``

Reference:
    Tanno, Arulkumaran, Alexander, Criminisi, Nori: Adaptive Neural Trees, ICML 2019.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from structnet.neural_tree import presets as presets
from structnet.neural_tree.count import count_flops as count_flops
from structnet.neural_tree.count import count_parameters as count_parameters
from structnet.neural_tree.decision import Decision as Decision
from structnet.neural_tree.decision import Limits as Limits
from structnet.neural_tree.explain import explain as explain
from structnet.neural_tree.growth import Growth as Growth
from structnet.neural_tree.likelihood import Categorical as Categorical
from structnet.neural_tree.likelihood import GaussianMixture as GaussianMixture
from structnet.neural_tree.likelihood import Likelihood as Likelihood
from structnet.neural_tree.likelihood import SquaredError as SquaredError
from structnet.neural_tree.primitives import Primitives as Primitives
from structnet.neural_tree.prune import prune as prune
from structnet.neural_tree.refine import refine as refine
from structnet.neural_tree.report import export_text as export_text
from structnet.neural_tree.report import summary as summary
from structnet.neural_tree.report import to_networkx as to_networkx
from structnet.neural_tree.samples import Samples as Samples
from structnet.neural_tree.sequential import from_sequential as from_sequential
from structnet.neural_tree.tree import NeuralTree as NeuralTree

if TYPE_CHECKING:  # at run time when they are first used: scikit-learn takes a second to import
    from structnet.neural_tree.estimator import NeuralTreeClassifier as NeuralTreeClassifier
    from structnet.neural_tree.estimator import NeuralTreeRegressor as NeuralTreeRegressor


def __getattr__(name: str) -> Any:
    if name not in ("NeuralTreeClassifier", "NeuralTreeRegressor"):
        raise AttributeError(f"module 'structnet.neural_tree' has no attribute {name!r}")
    return getattr(import_module("structnet.neural_tree.estimator"), name)
