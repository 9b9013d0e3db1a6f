"""The recipe of routed language models, and the figures of the thesis.

============  ========================================================================
``recipe``    the recipe, which names the others; ``work``: what is done by it
``settings``  what a run is told
``text``      the text of a run, and a model with its vocabulary
``measures``  what is measured before and after the training
``pictures``  the figures of the thesis, and the network with its traffic
``paper``     those figures, with ours as tables
============  ========================================================================
"""
