"""The recipe of language models, and the paper's comparison.

============  ========================================================================
``recipe``    the recipe, which names the others; ``work``: its text, its training, its answers
``settings``  what a run is told
``paper``     trees of words beside flat softmaxes
============  ========================================================================
"""
