"""Message passing over forests, level by level, from the leaves up.

======================  ==========================================================================
``cell``                :class:`Cell`: what a child sends and what a node makes of it
``propagation``         :func:`propagate`: runs a cell over a forest, a level at a time
``dgl_backend``         the reference, DGL's own message passing, which it is tested against
``scheduling``          :class:`Layout` and :class:`Schedule`: which rows are computed together
``tape``                the buffers of one sweep and its backward, in memory linear in the nodes
``_kernels``            the loops of the schedule: messages, stacks, inboxes
======================  ==========================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
