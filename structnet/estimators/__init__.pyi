from .checked import Checked as Checked
from .held_out import hold_out as hold_out
from .next_words import NextWordMeasures as NextWordMeasures
from .scale import Standardizer as Standardizer
from .tree_estimator import TreeClassifierMixin as TreeClassifierMixin
from .tree_estimator import TreeEstimatorMixin as TreeEstimatorMixin
from .tree_estimator import TreeRegressorMixin as TreeRegressorMixin
