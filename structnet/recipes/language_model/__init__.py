"""The recipe of language models, and the paper's comparison.

============  ========================================================================
``recipe``    the recipe, which names the others
``settings``  what a run is told
``runs``      its text, its training, its words that stand together
``paper``     trees of words beside flat softmaxes
============  ========================================================================
"""
