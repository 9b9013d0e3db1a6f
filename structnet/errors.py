"""What can be wrong with a graph."""


class GraphError(ValueError):
    """A graph that does not follow the schema of :mod:`structnet.trees.forest`."""


class NotATreeError(GraphError):
    """A graph in which some node has two parents, or none is the root, or there is a cycle."""
