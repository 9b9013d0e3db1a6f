"""The recipe of the user's own trees.

============  ========================================================================
``recipe``    the recipe, which refers to the others; ``work``: the work of its methods
``settings``  the settings of a run
``data``      reads and splits the user's trees, and refuses those with nothing to learn
``measures``  the quality of predictions, compared with constant ones
``answers``   the answers of a model for trees in a file, or typed
``pictures``  the confusions of classes, and one tree
============  ========================================================================
"""
