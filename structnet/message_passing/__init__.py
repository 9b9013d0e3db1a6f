"""Message passing over forests, level by level, from the leaves up.

``tutorials/guides/tree_modules.md`` has a cell of two layers, run over a DGL graph, and one with
weights of its own for each type; :func:`propagate` has one that counts.

======================  ==========================================================================
``cell``                :class:`Cell`: the message of a child and the state of a node
``propagation``         :func:`propagate`: runs a cell over a forest, level by level
``dgl_backend``         the reference for tests, on DGL's own message passing
``scheduling``          :class:`Layout` and :class:`Schedule`: which rows are computed together
``tape``                the buffers of one sweep and its backward pass, with linear memory
``rows``                a forest for cells that read one row of a tensor at each node
``steps``               a forest for cells that read the children of a node one after the other
``pooling``             :func:`pooled`: the sum, mean or maximum over all nodes of a tree
``_kernels``            the compiled loops that build a schedule: messages, stacks, inboxes
``_pooling_kernels``    the compiled loops for sums and maxima
``transfer``            :func:`moved`: copies arrays to a GPU
``gpu``                 what is computed on a GPU, but not level by level
======================  ==========================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
