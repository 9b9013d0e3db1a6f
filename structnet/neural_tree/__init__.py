"""Adaptive neural trees: binary trees of neural networks, grown to fit the data.

Routers at inner nodes give the probability of going left, transformers on edges change the sample
on its way, and solvers at leaves predict.

===========  ===================================  ================================================
equation     what                                 where
===========  ===================================  ================================================
Eq. (1)      the mixture of the leaves            :class:`Likelihood`, in ``likelihood``
Eq. (2)      product of routers on a leaf's path  :func:`structnet.routing.leaf_log_prob`
Sec. 3.2     prediction along a single path       :meth:`NeuralTree.follow`, in ``tree``
Algorithm 1  split, deepen or keep each leaf      :class:`Growth`; the rule: ``growth.decision``
Sec. 4       refinement of a grown tree           :func:`refine`, in ``refinement``
ours         splits with several routers at once  ``growth.lookahead``
ours         final training on all samples        :func:`finish`, in ``refinement``
ours         temperatures of the leaves           ``calibration``
ours         a penalised linear model as root     :func:`fit_linear`, in ``linear``
ours         columns that only add noise go       :func:`telling_columns`, in ``columns``;
                                                  :func:`few_columns`, in ``few_rows``
Table 2      the modules of the experiments       ``presets``
===========  ===================================  ================================================

==================  ================================================================================
``tree``            :class:`NeuralTree`: structure, modules, and prediction along all paths or one
``node``            the modules of one node, and the probabilities of paths
``joined``          linear maps of the same samples, which are one while they are trained
``routed``          the interface of all model trees, for explanations, reports and pictures
``primitives``      :class:`Primitives`: functions that make modules for given shapes
``clipped``         units of a layer with ceilings, which can be steps
``pretrained``      :func:`from_sequential`: a tree that starts as a trained network
``growth``          Algorithm 1, with a cache of the frozen tree and the scaling of new routers
``linear``          the penalised linear model of a table
``linear_start``    the start of a tree on a table as this model, which it may stay
``columns``         the columns of a table that tell something of its targets
``few_rows``        the columns of few rows that tell most, and the penalty of their linear model
``ridge``           linear models of numbers, with penalties of all strengths
``pruning``         :func:`prune`: removes branches that hardly any sample takes
``cost``            the parameters and FLOPs of any module
``settings``        :class:`NeuralTreeSettings`: the hyper-parameters and their defaults
``calibration``     the temperatures of a trained tree, by its validation samples
``training``        :func:`train`: grow, refine, finish, prune; :func:`go_on`: refine further
``member``          a trained tree of an estimator, with its columns and scalers
``estimator_base``  the common part of the scikit-learn classes: fit, predict, save, load
``estimator``       the scikit-learn classes
==================  ================================================================================

Reference:
    Tanno, Arulkumaran, Alexander, Criminisi, Nori, "Adaptive Neural Trees", ICML 2019.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
