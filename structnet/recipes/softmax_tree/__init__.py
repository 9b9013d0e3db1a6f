"""The recipes of softmax trees, of a fixed structure and grown, and the papers' tables.

=============  ========================================================================
``recipe``     the recipes, which name the others; ``work``: what is done by them
``settings``   what a run is told
``data``       rows in full or sparse, and their classes
``pictures``   Fig. 1, Fig. 2, and error against FLOPs
``paper``      comparisons as the papers make them, of the models in ``comparison``
``baselines``  linear models of all classes, trained by gradients
``defaults``   trees with no setting touched beside scikit-learn's models at theirs
=============  ========================================================================
"""
