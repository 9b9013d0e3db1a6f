"""The compiled loops of the sweeps. Not typed: numba infers the types of all arguments.

=================  ===========================================================================
``gates``          gates and cells, one row at a time
``sweeps``         the loops of a typed sweep, which all aggregators share
``steps``          their steps, one level at a time
``sums``           the sweep with a weighted sum
``full_tensor``    with the full tensor
``tucker``         with Tucker
``cp``             with CP
``tensor_train``   with the tensor train
``lanes``          rows of numbers multiplied in vector registers
``products``       matrix products whose first factor may have few rows
``core``           products of a core with the children's vectors, for the full tensor and Tucker
``low_rank``       from r numbers per gate to c, for Tucker, CP and the tensor train
``child_sum``      the sweep of a Child-Sum Tree-LSTM
``pieces``         divides the rows of a sweep
``turns``          lets several threads take pieces in turn
=================  ===========================================================================

Each aggregator's file has ``sweep_up``, which computes all states from the leaves up, and
``sweep_down``, which computes their gradients from the roots down, then those of the weights. Both
are called by several threads at once, which take pieces in turn. Their arguments are a ``Plan``,
its pieces, the ``States``, the ``Messages`` and the form's own weights; see :mod:`..plan`,
:mod:`..states` and :mod:`..forms`. Names that begin with ``d`` are gradients; those of weights are
in tuples like the weights'.
"""
