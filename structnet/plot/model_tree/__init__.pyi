from .leaves import plot_leaf_classes as plot_leaf_classes
from .leaves import plot_leaf_means as plot_leaf_means
from .partition import plot_partition as plot_partition
from .picture import plot_model_tree as plot_model_tree
from .picture import plot_refinement as plot_refinement
