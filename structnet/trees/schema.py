"""The one representation: every tree, of data or of a model, is a DGL graph of this schema.

=================  =======  =====================================================================
``edges``                   child -> parent
``edata["pos"]``   int64    the child's place among its siblings, from 0
``ndata["type"]``  int64    which parameters a node uses (operator, tag, relation); -1 for none
``ndata["token"]`` int64    which input vector a node carries (word, digit, variable); -1 for none;
                            from 2**32 on, a number by its value (``trees.number_tokens``)
=================  =======  =====================================================================

Order is data: nothing relies on the order of edges. This is the one module that imports dgl.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from structnet.errors import GraphError

if TYPE_CHECKING:
    from dgl import DGLGraph


def dgl() -> Any:
    """The dgl module, imported on first use.

    Importing dgl takes a second, prints, and writes a file into the home folder unless a backend
    is named; only users who ask for a graph pay for that.

    Raises:
        ModuleNotFoundError: dgl is not installed, as on Python 3.12 and later.
    """
    os.environ.setdefault("DGLBACKEND", "pytorch")
    try:
        import dgl
    except ModuleNotFoundError as error:
        if error.name != "dgl":  # something that it imports
            raise
        raise ModuleNotFoundError(_missing(sys.version_info[:2]), name="dgl") from None
    return dgl


def _missing(python: tuple[int, int]) -> str:
    """The error text on a version of Python without dgl: why it is missing, and what to do."""
    if python < (3, 12):
        why = "which is not installed; install it with: pip install 'dgl>=1.1.2,<2'"
    else:
        why = (
            f"of which no release for Python {python[0]}.{python[1]} runs beside a current torch; "
            "take Python 3.10 or 3.11, or do without: forests and all models need no graph"
        )
    return f"DGL graphs and backend='dgl' need dgl, {why}"


def make_graph(
    parent: np.ndarray, child: np.ndarray, pos: np.ndarray, types: np.ndarray, tokens: np.ndarray
) -> DGLGraph:
    """A DGL graph of the schema.

    Args:
        parent, child, pos: parent, child and place of each edge, ``[edges]``, int64.
        types, tokens: type and token of each node, ``[nodes]``, int64.
    """
    graph = dgl().graph((torch.from_numpy(child), torch.from_numpy(parent)), num_nodes=len(types))
    graph.edata["pos"] = torch.from_numpy(pos)
    graph.ndata["type"] = torch.from_numpy(types)
    graph.ndata["token"] = torch.from_numpy(tokens)
    return graph


FIELDS = {
    ("edata", "pos"): "the place of each edge's child among its siblings, from 0",
    ("ndata", "type"): "the number of each node's label, -1 for none",
    ("ndata", "token"): "the number of each node's input, such as a word, -1 for none",
}


def check_fields(graph: DGLGraph) -> None:
    """Checks that a DGL graph has the schema's fields.

    Raises:
        GraphError: it is no DGL graph, there are several types of nodes or of edges, or a field is
            missing, is not int64, or has not one number for each node or edge.
        ModuleNotFoundError: dgl is not installed.
    """
    kind = dgl().DGLGraph  # where there is no dgl, its error says more than a missing field
    if not isinstance(graph, kind):
        raise GraphError(f"expected a DGL graph of the schema; got a {type(graph).__name__}")
    if len(graph.ntypes) != 1 or len(graph.etypes) != 1:
        raise GraphError(
            "a graph of the schema has one type of nodes and one of edges; got the types "
            f"{', '.join(graph.ntypes)} of nodes and {', '.join(graph.etypes)} of edges"
        )
    for (where, name), meaning in FIELDS.items():
        if name not in getattr(graph, where):
            raise GraphError(f"the graph has no {where}[{name!r}]; expected {meaning}, as int64")
        field = getattr(graph, where)[name]
        if field.dtype != torch.int64:
            raise GraphError(f"{where}[{name!r}] must be int64; got {field.dtype}")
        if field.dim() != 1:
            what = "edge" if where == "edata" else "node"
            raise GraphError(
                f"{where}[{name!r}] must have one number per {what}, [{len(field)}]; got shape "
                f"{list(field.shape)}"
            )


def edges_by_place(graph: DGLGraph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Child, parent and place of each edge, by parent and then by place.

    Shapes:
        each ``[edges]``, int64.

    Raises:
        GraphError: a field of the schema is missing, or two children have the same place.
    """
    check_fields(graph)
    child, parent = (ends.numpy() for ends in graph.edges())
    pos = graph.edata["pos"].numpy()
    order = np.lexsort((pos, parent))  # two children in one place stand side by side
    child, parent, pos = child[order], parent[order], pos[order]
    clash = (parent[1:] == parent[:-1]) & (pos[1:] == pos[:-1])
    if clash.any():
        e = int(clash.argmax())
        raise GraphError(f"node {parent[e]} has two children in place {pos[e]}; places differ")
    return child, parent, pos
