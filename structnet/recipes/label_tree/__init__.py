"""The recipe of label trees, and the paper's comparison.

============  ========================================================================
``recipe``    the recipe, which names the others
``settings``  what a run is told
``data``      labelled text, next words, sparse rows, planted points
``runs``      training in a folder, what is measured, what is answered
``pictures``  losses, reassignments, and the tree as far as one looks
``paper``     learned trees beside Huffman's
============  ========================================================================
"""
