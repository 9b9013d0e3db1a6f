"""What a GPU computes otherwise than level by level.

==========  ===================================================================================
``triton``  :func:`runs_triton`: whether there is a Triton that compiles; imports none
``rows``    :func:`sum_rows`: sums of lists of rows, without additions that race
``pools``   :func:`pooled_rows`: the pools of trees that are written out
==========  ===================================================================================
"""
