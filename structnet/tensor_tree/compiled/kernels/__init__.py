"""The compiled loops of the sweeps. Not typed: numba infers the types of all arguments.

=================  ===========================================================================
``gates``          gates and cells, a row at a time
``steps``          the steps of a typed sweep that all aggregators share, a level at a time
``sums``           the sweep with a weighted sum
``full_tensor``    with the full tensor
``tucker``         with Tucker
``cp``             with CP
``tensor_train``   with the tensor train
``products``       products of matrices, of which the first may have few rows
``core``           products of a core with the children's vectors, of the full tensor and Tucker
``low_rank``       from r numbers a gate to c, of the other forms
``child_sum``      the sweep of a Child-Sum Tree-LSTM
``pieces``         where the rows of a sweep are cut
``turns``          pieces, taken in turn by several threads
=================  ===========================================================================

In each aggregator's file ``sweep_up`` computes all states from the leaves up, ``sweep_down`` their
gradients from the roots down and then those of the weights. Both are called by several threads at
once, which take pieces in turn. Their arguments are a ``Plan``, its pieces, the ``States`` and what
``Messages`` and the form's own weights are, as the modules of these names say; behind a ``d``,
gradients, those of weights each in a tuple like that of what it belongs to.
"""
