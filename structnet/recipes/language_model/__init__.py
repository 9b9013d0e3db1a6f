"""The recipe of language models, and the paper's comparison.

============  ========================================================================
``recipe``    the recipe, which refers to the others; ``work``: the work of its methods
``settings``  the settings of a run
``paper``     trees of words compared with flat softmaxes
============  ========================================================================
"""
