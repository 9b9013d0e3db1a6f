"""The Tree-LSTM's sweep on a CPU as one compiled call a direction, levels and products included.

===================  ===========================================================================
``tree_sweep``       the typed Tree-LSTM: one autograd function, and which models it covers
``plan``             its rows and runs of rows
``states``           the arrays that it computes in
``forms``            what the aggregators differ in: their weights and their compiled loops
``cores``            the core that the full tensor and Tucker have
``pieces``           a sweep in pieces, which threads take in turn
``child_sum_sweep``  the sweep of a Child-Sum Tree-LSTM
``kernels``          the compiled loops
===================  ===========================================================================
"""
