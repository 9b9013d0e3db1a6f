"""The scikit-learn side of the models: what is given is checked, scaled, held out and asked.

======================  ==========================================================================
``inputs``              the checks of samples, targets and weights
``checked``             :class:`Checked`, what has been checked; classes, weights, seeds
``scale``               :class:`Standardizer`, the one scaler; means and deviations of any size
``class_weights``       :func:`weighed`: classes that count more than they are many
``held_out``            :func:`hold_out`, the one way to set samples aside
``outliers``            :func:`warn_of_far_targets`: numbers that outweigh all others
``tree_estimator``      :class:`TreeEstimatorMixin`: what estimators of model trees can be asked
``hyper_parameters``    :func:`settings_of`: what an estimator was told, as its family's settings
``file``                a fitted estimator on disk, without pickle
``failed_fit``          :func:`whole`: a fit that fails or is interrupted leaves no trace
======================  ==========================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
