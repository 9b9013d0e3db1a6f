"""Models of tree-structured data on one graph representation.

The names below are imported when they are first used, so ``import structnet`` loads neither torch
nor dgl; each is written once, in ``__init__.pyi``, where type checkers and editors read it.

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
