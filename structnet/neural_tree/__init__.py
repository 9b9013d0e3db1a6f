"""Adaptive neural trees: binary trees of neural networks, grown to fit the data.

Routers on inner nodes give the probability of going left, transformers on edges change the sample
on its way, solvers on leaves predict.

===========  ===================================  ================================================
equation     what                                 where
===========  ===================================  ================================================
Eq. (1)      the mixture of the leaves            :class:`Likelihood`, in ``likelihood``
Eq. (2)      product of routers on a leaf's path  :func:`structnet.routing.leaf_log_prob`
Sec. 3.2     one path instead of all              :meth:`NeuralTree.follow`, in ``tree``
Algorithm 1  split, deepen or keep each leaf      :class:`Growth`; the rule: ``growth.decision``
Sec. 4       refinement of a grown tree           :func:`refine`, in ``refinement``
beyond it    a split may bring several routers    ``growth.lookahead``
beyond it    all samples are learnt from, last    :func:`finish`, in ``refinement``
beyond it    a table's tree begins penalised      :func:`fit_linear`, in ``linear``
Table 2      the modules of the experiments       ``presets``
===========  ===================================  ================================================

==================  ================================================================================
``tree``            :class:`NeuralTree`: shape and modules; samples on all paths or on one
``node``            what one node computes of the samples that come to it
``routed``          the same tree as any model tree: what is told and drawn of it
``primitives``      :class:`Primitives`: how modules are made for the shapes they meet
``pretrained``      :func:`from_sequential`: a tree that begins as a trained network
``growth``          Algorithm 1, with its frozen cache and the start of a new router
``linear``          the linear model that a tree of a table begins as, and may stay
``pruning``         :func:`prune`: without the branches that hardly any sample takes
``cost``            the parameters and FLOPs of any module
``settings``        :class:`NeuralTreeSettings`: every hyper-parameter and default, once
``training``        :func:`train`: grow, refine, finish, prune; :func:`go_on`: refine further
``member``          a trained tree of an estimator, and its scales
``estimator_base``  what both scikit-learn classes share: fitting, answering, files
``estimator``       the scikit-learn classes
==================  ================================================================================

Reference:
    Tanno, Arulkumaran, Alexander, Criminisi, Nori: Adaptive Neural Trees, ICML 2019.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
