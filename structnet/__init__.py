"""Models of tree-structured data on one graph representation.

The names below are imported when they are first used, so ``import structnet`` loads neither torch
nor dgl. ``structnet.propagate`` is the module; its function is ``structnet.propagate.propagate``.

Example:
    >>> import structnet
    >>> tree = structnet.parse.listops("[MAX 2 9 [MIN 4 7 ] 0 ]")
    >>> forest = structnet.Forest.from_trees([tree], structnet.Vocabulary.from_trees([tree]))
    >>> forest.num_nodes
    7
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and editors; at run time the table below says the same
    from structnet import datasets as datasets
    from structnet import metrics as metrics
    from structnet import neural_tree as neural_tree
    from structnet import parse as parse
    from structnet import plot as plot
    from structnet import propagate as propagate
    from structnet import routing as routing
    from structnet import tensor_tree as tensor_tree
    from structnet.checkpoint import CheckpointError as CheckpointError
    from structnet.checkpoint import load_model as load_model
    from structnet.checkpoint import save_model as save_model
    from structnet.errors import GraphError as GraphError
    from structnet.errors import NotATreeError as NotATreeError
    from structnet.examples import TreeExamples as TreeExamples
    from structnet.graph import Forest as Forest
    from structnet.history import History as History
    from structnet.loop import NonFiniteLossError as NonFiniteLossError
    from structnet.metrics import accuracy as accuracy
    from structnet.metrics import evaluate as evaluate
    from structnet.metrics import predict_all as predict_all
    from structnet.networkx_graph import from_networkx as from_networkx
    from structnet.networkx_graph import to_networkx as to_networkx
    from structnet.neural_tree import NeuralTree as NeuralTree
    from structnet.neural_tree.estimator import NeuralTreeClassifier as NeuralTreeClassifier
    from structnet.neural_tree.estimator import NeuralTreeRegressor as NeuralTreeRegressor
    from structnet.parse import ParseError as ParseError
    from structnet.plot import plot_growth as plot_growth
    from structnet.plot import plot_history as plot_history
    from structnet.plot import plot_leaf_classes as plot_leaf_classes
    from structnet.plot import plot_leaf_means as plot_leaf_means
    from structnet.plot import plot_neural_tree as plot_neural_tree
    from structnet.plot import plot_partition as plot_partition
    from structnet.plot import plot_refinement as plot_refinement
    from structnet.plot import plot_tree as plot_tree
    from structnet.tensor_tree import CP as CP
    from structnet.tensor_tree import ChildSum as ChildSum
    from structnet.tensor_tree import FullTensor as FullTensor
    from structnet.tensor_tree import TensorTrain as TensorTrain
    from structnet.tensor_tree import TreeClassifier as TreeClassifier
    from structnet.tensor_tree import TreeLSTM as TreeLSTM
    from structnet.tensor_tree import TreePairClassifier as TreePairClassifier
    from structnet.tensor_tree import Tucker as Tucker
    from structnet.tensor_tree import WeightedSum as WeightedSum
    from structnet.train import fit as fit
    from structnet.tree import Tree as Tree
    from structnet.vocabulary import Vocabulary as Vocabulary
    from structnet.vocabulary import VocabularyError as VocabularyError

    __version__: str

_SUBMODULES = (
    "datasets",
    "metrics",
    "neural_tree",
    "parse",
    "plot",
    "propagate",
    "routing",
    "tensor_tree",
)
_NAMES = {
    "checkpoint": ("CheckpointError", "load_model", "save_model"),
    "errors": ("GraphError", "NotATreeError"),
    "examples": ("TreeExamples",),
    "graph": ("Forest",),
    "history": ("History",),
    "loop": ("NonFiniteLossError",),
    "metrics": ("accuracy", "evaluate", "predict_all"),
    "networkx_graph": ("from_networkx", "to_networkx"),
    "neural_tree": ("NeuralTree",),
    "neural_tree.estimator": ("NeuralTreeClassifier", "NeuralTreeRegressor"),
    "parse": ("ParseError",),
    "plot": (
        "plot_growth",
        "plot_history",
        "plot_leaf_classes",
        "plot_leaf_means",
        "plot_neural_tree",
        "plot_partition",
        "plot_refinement",
        "plot_tree",
    ),
    "tensor_tree": (
        "CP",
        "ChildSum",
        "FullTensor",
        "TensorTrain",
        "TreeClassifier",
        "TreeLSTM",
        "TreePairClassifier",
        "Tucker",
        "WeightedSum",
    ),
    "train": ("fit",),
    "tree": ("Tree",),
    "vocabulary": ("Vocabulary", "VocabularyError"),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted([*_SUBMODULES, *_MODULE_OF])


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"structnet.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("structnet")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'structnet' has no attribute {name!r}")
    return getattr(import_module(f"structnet.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
