"""The recipes of softmax trees, with a fixed structure or grown, and the papers' tables.

=============  ========================================================================
``recipe``     the recipes, which refer to the others; ``work``: the work of their methods
``settings``   the settings of a run
``data``       dense or sparse rows, and their classes
``pictures``   Fig. 1, Fig. 2, and error against FLOPs
``paper``      comparisons like the papers', of the models in ``comparison``
``baselines``  linear models of all classes, trained by gradient descent
``defaults``   trees compared with scikit-learn's models, all with default settings
=============  ========================================================================
"""
