"""Adaptive neural trees: binary trees of neural networks, grown to fit the data.

Routers on inner nodes give the probability of going left, transformers on edges change the sample
on its way, solvers on leaves predict.

===========  ===================================  =========================================
Reference:
    Tanno, Arulkumaran, Alexander, Criminisi, Nori: Adaptive Neural Trees, ICML 2019.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
