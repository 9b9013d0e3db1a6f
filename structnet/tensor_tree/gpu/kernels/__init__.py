"""The GPU kernels of Tree-LSTMs, in Triton.

=============  ==================================================================================
``phases``     order among the programs of one call, and other parts of all sweeps
``products``   matrix products, and sums of outer products of rows with the same key
``tree``       a typed Tree-LSTM: a whole sweep, upwards or downwards
``children``   what each aggregator computes from a node's children
``child_sum``  a Child-Sum Tree-LSTM: the same sweeps, and the gradients of some weights
=============  ==================================================================================
"""
