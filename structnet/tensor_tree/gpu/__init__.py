"""The sweep of the default model on a GPU; imported where there is one.

===================  =============================================================================
``child_sum_sweep``  :func:`sweep`: all levels of a Child-Sum Tree-LSTM, and their gradients
``_kernels``         what is computed at a level beside its products, in Triton
===================  =============================================================================
"""
