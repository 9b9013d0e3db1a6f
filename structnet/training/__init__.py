"""One training loop for every model, of which it only needs the loss.

======================  ==========================================================================
``fitting``             :func:`fit`: its arguments, and their checks
``loop``                the loop itself: epochs, batches, early stopping, exact resuming
``gradients``           the size of a gradient, and the bound on it
``averaging``           a running mean of the weights
``backward``            what every hand-written backward pass needs: its precision, and a refusal
``history``             :class:`History`: one record per epoch, and which epoch was the best
``schedules``           arguments of :func:`fit` for AdamW with a rate that rises and falls
``metrics``             :func:`accuracy`, :func:`evaluate`, :func:`predict_all`
``gains``               how surely one model is better than another on the same samples
``checkpoint``          models and states on disk, without pickle
``files``               files written whole or not at all; folders for one process at a time
``processes``           several processes of one run (torchrun)
``progress``            a progress bar, or lines at intervals in a log
``threads``             the number of threads that compute: one for small products
``one_thread``          keeps the matrix library on one thread
``modules``             their size, device and copies, who watches them, ``torch.compile``
``targets``             :class:`TargetError`: classes that a model does not have
``seeding``             seeds the global random generators for an epoch, and restores them
======================  ==========================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
