from .hard_path import group as group
from .hard_path import hard_route as hard_route
from .path_log_prob import leaf_log_prob as leaf_log_prob
from .path_log_prob import node_log_prob as node_log_prob
from .topology import Topology as Topology
from .topology import as_topology as as_topology
