from .settings import GrowthSettings as GrowthSettings
from .settings import SoftmaxTreeSettings as SoftmaxTreeSettings
from .training import Trained as Trained
from .training import train as train
from .tree import Choices as Choices
from .tree import Predictor as Predictor
from .tree import SoftmaxTree as SoftmaxTree
