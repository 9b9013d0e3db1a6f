"""The recipe of Tree-LSTMs on ListOps and LRT, and the paper's tables.

===================  ========================================================================
``recipe``           the recipe, which refers to the others; ``work``: the work of its methods
``settings``         the settings of a run; by default those of the paper's models
``trees``            the interface of a data set of trees, for ``listops`` and ``lrt``
``model``            builds, trains and evaluates the model
``pictures``         the pictures of one run or of several
``paper``            the paper's tables, with our figures beside the paper's
``own_trees_table``  the estimators with default settings compared with
                     ``own_trees_baselines``, on ``own_trees_tasks``
===================  ========================================================================
"""
