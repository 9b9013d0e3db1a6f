from .base import Aggregator as Aggregator
from .count import count_aggregation as count_aggregation
from .cp import CP as CP
from .full_tensor import FullTensor as FullTensor
from .tensor_train import TensorTrain as TensorTrain
from .tucker import Tucker as Tucker
from .weighted_sum import ChildSum as ChildSum
from .weighted_sum import WeightedSum as WeightedSum
