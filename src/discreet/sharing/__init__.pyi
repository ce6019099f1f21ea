from .cascades import cascade as cascade
from .collusion import collude as collude
from .composition import compose as compose
from .promises import approximate as approximate
from .recalibration import recalibrate as recalibrate
