"""The sweep of the default model on a GPU; imported only if there is one.

===================  =============================================================================
``child_sum_sweep``  :func:`sweep`: all levels of a Child-Sum Tree-LSTM, and their gradients
``_kernels``         Triton kernels for everything in a level except its matrix products
===================  =============================================================================
"""
