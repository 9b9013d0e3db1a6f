"""Adaptive neural trees: binary trees of neural networks, grown to fit the data.

Routers on inner nodes give the probability of going left, transformers on edges change the sample
on its way, solvers on leaves predict. Where the paper's equations stand:

Eq. (1), the mixture of the leaves' predictions       ->  ``likelihood``
Eq. (2), leaf probability: product of router outputs  ->  ``structnet.routing.leaf_log_prob``
Sec. 3.2, one path instead of all                     ->  ``NeuralTree.follow``
Algorithm 1, growth                                   ->  ``Growth``
Sec. 4, refinement                                    ->  ``refine``
all of the training, and its hyper-parameters         ->  ``train``, ``NeuralTreeSettings``
Table 2, modules                                      ->  ``presets``

Reference:
    Tanno, Arulkumaran, Alexander, Criminisi, Nori: Adaptive Neural Trees, ICML 2019.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
