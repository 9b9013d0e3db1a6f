"""The scikit-learn side of the models: the user's data are checked, scaled and held out.

=========================  =======================================================================
``inputs``                 the checks of samples, targets and weights
``numeric``                tables that are not of numbers: text, dates, dicts
``checked``                :class:`Checked`, what has been checked; classes, weights, seeds
``scale``                  :class:`Standardizer`, the one scaler; means and deviations of any size
``tails``                  :class:`BentStandardizer`, which bends columns with heavy tails, by
                           ``_tail_kernels``
``counts``                 :class:`CountStandardizer`, for counts; the scaler of linear models
``logistic``               :func:`logistic_regression`, of counts or of any rows
``row_space``              wide rows as coordinates, at most as many as there are rows
``few_rows``,              :func:`solved`: a softmax of dense rows without training, which is a
``discriminant_analysis``  :func:`.discriminant` analysis, of few rows half a logistic regression
``parts``,                 classes as several parts each, :func:`.parts_within`; how many, by
``number_of_parts``,       held-out rows, :func:`.best_division`;
``columns_of_parts``,      the columns in which they are found, by random trees of ``questions``;
``softmax_of_parts``,      a softmax of parts that tells classes, :func:`.parts_told`;
``relevance``              how many columns of a table are :func:`.enough`
``naive_bayes``            :func:`.bayes_weights`, of sparse rows, for a softmax or a tree of them
``temperature``            how sure a tree is of its classes, by held-out samples
``class_weights``          :func:`weighed`: classes that count more or less than their samples
``held_out``               :func:`hold_out`: samples set aside, for choices or a test
``outliers``               :func:`warn_of_far_targets`: numbers that outweigh all others
``tree_estimator``         :class:`TreeEstimatorMixin`: methods of estimators made of model trees
``next_words``             :class:`NextWordEstimator`: texts in, next words out, and their measures
``likeliest``              :class:`LikeliestMixin`: the likeliest few classes of a sample, or rows
``hyper_parameters``       :func:`settings_of`: an estimator's parameters as its family's settings
``described``              :func:`described_by`: ``help`` that explains every parameter
``file``                   a fitted estimator on disk, without pickle
``failed_fit``             :func:`whole`: a fit that fails or is interrupted leaves no trace;
                           :func:`interruptible`
=========================  =======================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
