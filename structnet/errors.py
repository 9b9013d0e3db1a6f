"""Errors of graphs."""


class GraphError(ValueError):
    """A graph that does not follow the schema of :mod:`structnet.trees.forest`."""


class NotATreeError(GraphError):
    """A graph in which a node has two parents, no node is the root, or there is a cycle."""
