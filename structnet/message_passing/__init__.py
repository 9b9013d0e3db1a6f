"""Message passing over forests, level by level, from the leaves up.

======================  ==========================================================================
``cell``                :class:`Cell`: what a child sends and what a node makes of it
``propagation``         :func:`propagate`: runs a cell over a forest, a level at a time
``dgl_backend``         the reference, DGL's own message passing, which it is tested against
``scheduling``          :class:`Layout` and :class:`Schedule`: which rows are computed together
``tape``                the buffers of one sweep and its backward, in memory linear in the nodes
``rows``                the same trees for cells that read one row of numbers a node
``pooling``             :func:`pooled`: the sum, mean or maximum over all nodes of a tree
``_kernels``            the loops of the schedule: messages, stacks, inboxes
``_pooling_kernels``    those of sums and maxima
``transfer``            :func:`moved`: arrays on their way to a GPU
``gpu``                 what a GPU computes otherwise than level by level
======================  ==========================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
