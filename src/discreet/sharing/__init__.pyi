from .cascades import cascade as cascade
from .collusion import collude as collude
from .composition import compose as compose
from .composition import recalibrate as recalibrate
from .lifetimes import lifetime as lifetime
from .promises import approximate_dp as approximate_dp
