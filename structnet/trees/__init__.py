"""Trees that are data: one tree, the numbers of its labels, and many trees in one graph.

======================  ==========================================================================
``tree``                :class:`Tree`, plain and immutable, which parsers return
``notation``            writes a tree in brackets or as an outline, and reads it
``spans``               :func:`leaf_spans`: which leaves a node covers
``binarization``        :func:`binarize` and :func:`unbinarize`: at most two children per node
``label_words``         :func:`with_words`: texts and names at leaves with their words below them
``texts``               the same in a forest, where a text is one node
``spelling``            the letters of labels in a forest, as pieces of words
``vocabulary``          :class:`Vocabulary`: the labels of inner nodes as types, of leaves as tokens
``number_tokens``       numbers among labels, whose tokens encode their values
``forest``              :class:`Forest`: many trees in one graph, equal subtrees stored once
``ways_down``           the paths from the root down to each node, as a forest
``repeats``             where else in its tree a node's label occurs
``replacement``         copies of one tree, each with another subtree replaced
``arrays``              a forest's arrays, and their checks
``schema``              the fields of every DGL graph, and the only ``import dgl``
``networkx_graph``      to networkx and back
``examples``            :class:`TreeExamples`: trees with the targets to learn
``numbering``           turns trees into arrays of nodes
``end_to_end``          lists of different lengths, end to end in one array
``memory``              pauses the garbage collector while millions of objects are made
``_kernels``            the loops over nodes: heights, sub-forests, topological order
``_llvm``               LLVM building blocks for instructions that families compile themselves
======================  ==========================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
