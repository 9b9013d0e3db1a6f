"""The recipe of users' own trees.

============  ========================================================================
``recipe``    the recipe, which names the others; ``work``: what is done by it
``settings``  what a run is told
``data``      the user's trees: read, refused if nothing can be learnt of them, split
``measures``  how good predictions are, beside what one would guess
``answers``   what a model says of trees in a file, or typed
``pictures``  what is taken for what, and one tree
============  ========================================================================
"""
