"""The recipe of neural trees, and the paper's tables.

=============  ========================================================================
``recipe``     the recipe, which refers to the others; ``work``: the work of its methods
``settings``   the settings of a run, with defaults for each data set
``data``       a named data set or a table, split by the run's seed
``runs``       the trees and the facts in the folder of a run
``answers``    predictions of a tree, their scores, and the reasons for them
``paper``      the paper's tables, with our figures; the paper's are in ``figures``
``curves``     the paper's figures: by the number of examples, and by patience
``baselines``  the other models of Table 3, networks and scikit-learn's
``one_path``   the network along one path of a tree, for Table 3
``tabular``    trees compared with scikit-learn's models at defaults, on ``tabular_data``
=============  ========================================================================
"""
