"""The recipe of neural trees, and the paper's tables.

=============  ========================================================================
``recipe``     the recipe, which names the others; ``work``: what is done by it
``settings``   what a run is told, and the data sets' own values
``data``       a data set of a name or a table, split by the run's seed
``runs``       what lies in the folder of a run
``answers``    what a tree predicts, how good that is, and how it comes to it
``paper``      the tables of the paper beside ours; its numbers are in ``figures``
``curves``     its figures: by the number of examples, and by patience
``baselines``  the other models of Table 3, networks and scikit-learn's
``one_path``   the network along one path of a tree, for Table 3
``tabular``    trees at their defaults beside scikit-learn's, on ``tabular_data``
=============  ========================================================================
"""
