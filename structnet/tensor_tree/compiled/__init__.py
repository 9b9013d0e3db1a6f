"""The sweeps of Tree-LSTMs on a CPU, in one compiled call per direction with levels and products.

===================  ===========================================================================
``tree_sweep``       the typed Tree-LSTM: one autograd function, and which models it covers
``model``            the parts of a Tree-LSTM that these sweeps read
``plan``             its rows and runs of rows
``states``           the arrays that it computes
``forms``            the parts that depend on the aggregator: its weights and compiled loops
``cores``            the core of the full tensor and of Tucker
``pieces``           runs a sweep in pieces, which threads take in turn
``child_sum_sweep``  the sweep of a Child-Sum Tree-LSTM
``kernels``          the compiled loops
===================  ===========================================================================
"""
