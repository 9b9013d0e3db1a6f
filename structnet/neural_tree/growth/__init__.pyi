from .decision import Decision as Decision
from .decision import Limits as Limits
from .growth import Growth as Growth
