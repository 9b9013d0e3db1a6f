"""The Tree-LSTM's sweep as a few compiled loops a level, on a CPU; its own forward and backward.

======================  ==========================================================================
``tree_sweep``          one autograd function for all levels, and which models it covers
``buffers``             the rows of a sweep and the arrays it computes in
``combine``             the aggregators' products and sums, a level at a time
``products``            each row times its own key's matrix
``child_sum_sweep``     a Child-Sum Tree-LSTM's sweep: one call a direction, levels and all
``_child_sum_kernels``  that call
``_kernels``            the loops over rows of gates and states
``_combine_kernels``    the loops over rows of what the children sent
======================  ==========================================================================
"""
