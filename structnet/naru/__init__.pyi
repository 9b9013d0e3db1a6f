from .bundle import Bundle as Bundle
from .network import Routed as Routed
from .network import RoutedNetwork as RoutedNetwork
from .wiring import Wiring as Wiring
