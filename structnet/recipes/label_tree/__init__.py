"""The recipe of label trees, and the paper's comparison.

============  ========================================================================
``recipe``    the recipe, which refers to the others; ``work``: the work of its methods
``settings``  the settings of a run
``data``      labelled text, next words, rows, planted points
``runs``      training in a folder, and the trained tree
``pictures``  losses, reassignments, and the first levels of the tree
``paper``     learned trees compared with Huffman's
============  ========================================================================
"""
