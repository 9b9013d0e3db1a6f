"""The recipe of Tree-LSTMs on ListOps and LRT, and the paper's tables.

===================  ========================================================================
``recipe``           the recipe, which names the others; ``work``: what is done by it
``settings``         what a run is told, and the paper's models for what is not said
``trees``            what a data set of trees has to know of itself: ``listops``, ``lrt``
``model``            how the model is built, trained and asked
``pictures``         what is drawn of a run, and of several
``paper``            the tables of the paper beside ours
``own_trees_table``  the estimators untouched beside ``own_trees_baselines``, on
                     ``own_trees_tasks``
===================  ========================================================================
"""
