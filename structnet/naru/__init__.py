"""Routed networks (NARU): each word activates one bundle per capsule; all others cost nothing.

A bundle keeps a state. At each step, every active bundle reads its neighbours' states through
gates, writes its own state, and elects the bundle of the next capsule that will be active: the one
with the largest gate.

============  ====================================  ===============================================
equation      what                                  where
============  ====================================  ===============================================
Eq. (1)-(4)   a gated connection                    :class:`Bundle`; ``_kernels.read``
Eq. (5), (8)  a bundle's state                      ``_kernels.write``; ``autograd_backend``
Table 2       capsules, bundles and links           :class:`Wiring`, the default
Fig. 18-20    utilisation, route changes, bias      :class:`RoutingStats`, :func:`route_changes`
============  ====================================  ===============================================

====================  ==============================================================================
``wiring``            the bundles of each capsule, and which of them read each other
``bundle``            the parameters of one bundle
``capsules``          all bundles, their initial weights, and arrays of what each of them reads
``network``           :class:`RoutedNetwork`: from sentences to predictions and paths
``waves``             the step at which each token of each sentence is in each capsule
``sweep``             the batched network on a CPU, with a hand-written pass backward through time;
                      its loops are in ``_kernels``
``autograd_backend``  the same in plain PyTorch: the reference for it, and the way on other devices
``message_passing``   one step as DGL message passing, the reference for both; export to networkx
``balance``           how unevenly bundles are elected, as a loss
``statistics``        :class:`RoutingStats`: which bundles are visited, and how evenly
``sentences``         :class:`Sentences`: batches of encoded sentences
``next_word``         :class:`NextWord`: a network with word vectors, its loss, and the next word
``recurrent``         the baseline: a GRU with about as many multiplications
``preparation``       from a text to sentences, a vocabulary and vectors
``settings``          :class:`NaruSettings`: all hyper-parameters, with defaults and ranges
``training``          :func:`train`: training with an Adam that leaves unvisited bundles alone
``language_model``    :class:`RoutedLanguageModel`: fit, predict, score, as in scikit-learn; and the
                      same with the baseline, ``RecurrentLanguageModel``
====================  ==============================================================================

The thesis and its code agree wherever its equations can be tested; where the text is silent, we
follow the code. Our own are the initial weights, see ``Capsules.draw``, the connections of the
default network of :class:`NaruSettings`, see ``Wiring.memory``, and the linear way past the network
from the last two words to the next one, see :class:`NextWord`.

Reference:
    D. Nepp, On the State of ANN Computation Graphs and the potential of Conditional Neural
    Networks, 2021, chapter 4.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
