"""The scikit-learn side of the models: what is given is checked, scaled, split and weighed.

======================  ==========================================================================
``inputs``              the checks of samples, targets and weights
``checked``             what has been checked: arrays, classes, seeds, splits
``scale``               means and deviations, and numbers too large or small for float32
======================  ==========================================================================
"""
