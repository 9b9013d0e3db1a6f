"""One training loop, which knows one thing of a model: its loss.

======================  ==========================================================================
``fitting``             :func:`fit`: what can be set, and its checks
``loop``                the loop itself: epochs, batches, early stopping, exact resuming
``averaging``           a running mean of the weights
``history``             :class:`History`: a record an epoch, and which epoch was the best
``schedules``           AdamW whose rate rises and falls: the arguments of :func:`fit` for it
``metrics``             :func:`accuracy`, :func:`evaluate`, :func:`predict_all`
``checkpoint``          models and states on disk, without pickle
``files``               files that are whole or not there; folders for one process at a time
``processes``           several processes of one run (torchrun)
``progress``            a bar, or a line now and then where nobody watches
``threads``             how many threads compute: one for small products
``one_thread``          the matrix library, kept on one thread
``targets``             :class:`TargetError`: classes that a model does not have
``seeding``             the global random generators, seeded for an epoch and given back
======================  ==========================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
