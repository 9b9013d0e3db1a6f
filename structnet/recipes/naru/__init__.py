"""The recipe of routed language models, and the figures of the thesis.

============  ========================================================================
``recipe``    the recipe, which refers to the others; ``work``: the work of its methods
``settings``  the settings of a run
``text``      the text of a run
``measures``  the measurements before and after training
``pictures``  the figures of the thesis, and the network with its traffic
``paper``     tables for these figures
============  ========================================================================
"""
