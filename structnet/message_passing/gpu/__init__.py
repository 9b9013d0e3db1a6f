"""Computations on a GPU that do not go level by level.

===========  ==================================================================================
``triton``   :func:`runs_triton`: True if Triton can compile; does not import it before
``probing``  a kernel with all that others use, by which that is found out
``rows``     :func:`sum_rows`: sums of lists of rows, in a fixed order
``pools``    :func:`pooled_rows`: pools over trees whose shared subtrees are written out
===========  ==================================================================================
"""
