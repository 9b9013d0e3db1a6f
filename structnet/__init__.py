"""Models of tree-structured data on one graph representation.

A tree is a DGL graph, a model passes messages along it, and every routed model is a product of
choices along a path.

======================  ==========================================================================
``trees``               trees that are data: :class:`Tree`, :class:`Vocabulary`, :class:`Forest`
``parse``               text, and other libraries' objects, to trees
``text``                sentences, vocabularies and vectors of words
``datasets``            published data, checked by hash, and generators of similar data
``message_passing``     runs a cell over a forest, level by level, forward and backward
``tensor_tree``         Tree-LSTMs with tensors: one paper, one folder
``routing``             trees that are the model: paths, explanations, summaries, for any family
``neural_tree``         adaptive neural trees: one paper, one folder
``softmax_tree``        softmax trees for many classes, fixed or grown: one family, one folder
``naru``                routed networks, of which each word activates a path: one paper, one folder
``label_tree``          trees of very many labels: one paper, one folder
``estimators``          what the scikit-learn classes share
``training``            one loop for every model: :func:`fit`, :class:`History`, checkpoints
``plot``                pictures of trees, models and training
``recipes``, ``cli``    the papers' experiments, and the command ``structnet``
``checks``, ``errors``  the sentence for a bad parameter, the errors for a bad graph
======================  ==========================================================================

The public names are imported when they are first used, so ``import structnet`` loads neither torch
nor dgl; each is listed once, in ``__init__.pyi``, where type checkers and editors read it.

Example:
    >>> import structnet
    >>> tree = structnet.parse.listops("[MAX 2 9 [MIN 4 7 ] 0 ]")
    >>> forest = structnet.Forest.from_trees([tree], structnet.Vocabulary.from_trees([tree]))
    >>> forest.num_nodes
    7
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = "0.1.0"  # read by pyproject.toml
