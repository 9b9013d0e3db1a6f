"""The sweeps of Tree-LSTMs on a GPU, in one call per direction; imported only if there is one.

===================  =============================================================================
``tree_sweep``       the typed Tree-LSTM
``child_sum_sweep``  the default model, a Child-Sum Tree-LSTM
``sizes``            the sizes of the typed kernels, and which models these cover
``tasks``            blocks of rows, in phases: one call computes all levels
``keyed_sums``       gradients of weights that many rows share
``kernels``          the Triton kernels
===================  =============================================================================
"""
