from .cell import Cell as Cell
from .cell import Edges as Edges
from .cell import Nodes as Nodes
from .cell import Rows as Rows
from .cell import State as State
from .pooling import pooled as pooled
from .propagation import propagate as propagate
from .scheduling import Layout as Layout
