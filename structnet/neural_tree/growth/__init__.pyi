from .decision import Decision as Decision
from .growth import Growth as Growth
