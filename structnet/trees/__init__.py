"""Trees that are data: one tree, its labels' numbers, and many trees in one graph.

======================  ==========================================================================
``tree``                :class:`Tree`, plain and immutable: what parsers give
``notation``            how a tree is written in brackets or as an outline, and read
``spans``               :func:`leaf_spans`: which leaves a node covers
``binarization``        :func:`binarize` and :func:`unbinarize`: at most two children a node
``label_words``         :func:`with_words`: texts and names at leaves with their words below them
``texts``               the same in a forest, where a text is one node
``vocabulary``          :class:`Vocabulary`: the labels of inner nodes as types, of leaves as tokens
``number_tokens``       numbers at leaves, which are tokens by their values
``forest``              :class:`Forest`: many trees in one graph, equal subtrees stored once
``ways_down``           the way from its root down to each node, as a forest
``replacement``         one tree many times, each time with another subtree replaced
``arrays``              what the arrays of a forest must hold
``schema``              the fields of every DGL graph, and the only ``import dgl``
``networkx_graph``      to networkx and back
``examples``            :class:`TreeExamples`: trees with what is to be learned of them
``numbering``           how trees become arrays of nodes
``memory``              how millions of them are built quickly
``_kernels``            the loops over nodes: heights, sub-forests, topological order
``_llvm``               words of the instructions that families compile themselves
======================  ==========================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
