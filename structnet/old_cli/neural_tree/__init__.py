"""The commands for adaptive neural trees: each is the module of its name, with ``run(args)``.

``structnet train neural-tree`` and ``reproduce neural-tree`` are commands of their own; the others
come here if the run they are about is a neural tree's.
"""
