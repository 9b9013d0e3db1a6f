"""The recipe of label trees, and the paper's comparison.

============  ========================================================================
``recipe``    the recipe, which names the others; ``work``: what is done by it
``settings``  what a run is told
``data``      labelled text, next words, sparse rows, planted points
``runs``      training in a folder, and the tree that comes out
``pictures``  losses, reassignments, and the tree as far as one looks
``paper``     learned trees beside Huffman's
============  ========================================================================
"""
