"""Routed networks (NARU): each word activates one bundle a capsule, and all others cost nothing.

A bundle keeps a state. At each step the active bundles read their neighbours' states through gates,
write their own, and each elects the neighbour ahead behind its largest gate to be active next.

============  ====================================  ===============================================
equation      what                                  where
============  ====================================  ===============================================
Eq. (1)-(4)   a gated connection                    :class:`Bundle`; ``_kernels.read``
Eq. (5), (8)  a bundle's state                      ``_kernels.write``; ``autograd_backend``
Table 2       capsules, bundles and links           :class:`Wiring`, the default
Fig. 18-20    utilisation, route changes, bias      :class:`RoutingStats`, :func:`route_changes`
============  ====================================  ===============================================

====================  ==============================================================================
``wiring``            which bundles there are, and which read each other
``bundle``            the parameters of one bundle
``capsules``          all bundles, their first weights, and whom each of them reads
``network``           :class:`RoutedNetwork`: sentences in, predictions and paths out
``waves``             when each token of each sentence is in which capsule
``sweep``             the batched network, forward and back through time by hand, on a CPU; its
                      loops are in ``_kernels``
``autograd_backend``  the same in plain torch: its reference, and what runs on other devices
``message_passing``   a step as DGL's messages, the reference of both; the network for networkx
``statistics``        :class:`RoutingStats`: which bundles are visited, how evenly
``sentences``         :class:`Sentences`: batches of words
``next_word``         :class:`NextWord`: a network and words' vectors, the loss, the next word
``recurrent``         the baseline: a GRU of as many multiplications
``preparation``       from a text to sentences, a vocabulary and vectors
``settings``          :class:`NaruSettings`: every hyper-parameter and default, once
``training``          :func:`train`: Adam that leaves unvisited bundles alone
``language_model``    :class:`RoutedLanguageModel`: fit, predict, score, as in scikit-learn
====================  ==============================================================================

The thesis and its code agree on all that a test of equations can see; where the text is silent, its
code's choices are followed. First weights are ours: see ``Capsules.draw``.

Reference:
    D. Nepp, On the State of ANN Computation Graphs and the potential of Conditional Neural
    Networks, 2021, chapter 4.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
