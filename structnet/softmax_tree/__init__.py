"""Softmax trees: sparse hyperplanes that lead to small softmaxes, for few classes or very many.

A sample follows one path, to a leaf with a softmax over a few of the classes. Training alternates
over the nodes; a tree may grow where that is worth it.

==========================  ======================================  ==============================
part                        source                                  code
==========================  ======================================  ==============================
E, the objective            EMNLP 2021, Sec. 3                      :class:`.objective.Objective`
TAO, node by node           NeurIPS 2018; EMNLP 2021, Sec. 3        ``optimisation``
a leaf's softmax            EMNLP 2021                              ``leaf_update``
a node's hyperplane         NeurIPS 2018: weighted 0/1 loss         ``decision_update``
growth: alpha, rho, k       UAI 2024, Sec. 4                        ``growth``
==========================  ======================================  ==============================

The papers leave the following open, and the choices are ours:

- the loss of a sample whose class is missing from its leaf: 2 log K (``settings``);
- the initial hyperplanes, and the number of classes in a leaf when growth starts (``start``);
- a new hyperplane is also compared at the norm of the old one and, if it is refused, both are
  compared with exact thresholds (``_decision_kernels``);
- every hyperplane is compared with its largest weights alone, as the surrogate keeps features that
  increase a margin but correct no mistake (``_decision_kernels``);
- growth tries a cut between clusters of rows as well as one between classes (``growth``);
- the tree chosen on held-out samples learns from them at the end (``training``);
- leaves give a fixed probability to the classes that they lack, together (``smoothing``,
  ``probabilities``), which is no part of the papers' quantities (``measures``); and everything in
  ``choice``.

====================  ============================================================================
``tree``              :class:`SoftmaxTree`
``predictor``         :class:`Predictor`, for one sample at a time
``probabilities``     those of a leaf's classes, and of all others
``arrays``            a tree in three flat arrays, for storage and prediction
``_kernels``          products along a path, compiled by numba; ``_vectors``: for dense rows
``points``            training data: rows, dense or sparse
``nodes``, ``draft``  hyperplanes and softmaxes; a tree of them while it is trained
``objective``         losses and penalties; ``_loss_kernels``: compiled by numba
``optimisation``      :func:`alternate <structnet.softmax_tree.optimisation.alternate>`: TAO
``leaf_update``       the update of a leaf
``decision_update``   the update of a decision node, nearly all of it in ``_decision_kernels``
``solver``            logistic regression with penalties, on features scaled by
                      ``_scaling_kernels``, by ``_solver_kernels``
``start``             the trees from which training starts
``growth``            subtrees in place of leaves
``smoothing``         probabilities of the classes that a leaf lacks, at the end
``settings``          the hyper-parameters and their defaults
``solved_leaf``,      a single leaf that is solved: of dense rows, or naive Bayes of sparse ones;
``class_parts``       one whose classes have several parts
``choice``            settings that are not given, chosen on held-out samples; ``penalties``: those
                      of leaves
``judge``, ``fold``   compares kinds of trees on folds of samples by ``wrongness``: mistakes and,
                      with few classes, probabilities; ``costs``: what a trial costs
``training``          :func:`train`: from data to a tree; ``state``: its state on disk
``measures``          error, size and cost in the papers' quantities
``networkx_tree``     to networkx with all weights, and back
``members``           several trees, whose probabilities are averaged
``estimator_base``    the common part of the scikit-learn classes: fit, predict, save, load
``estimator``         the scikit-learn classes
====================  ============================================================================

Tree alternating optimisation is the subject of US patent 12,505,355.

Reference:
    Kairgeldin, Gabidolla, Carreira-Perpinan, "Adaptive Softmax Trees for Many-Class
    Classification", UAI 2024; Zharmagambetov, Gabidolla, Carreira-Perpinan, "Softmax Tree", EMNLP
    2021; Carreira-Perpinan, Tavallali, "Alternating Optimization of Decision Trees", NeurIPS 2018.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
