from .cascades import cascade as cascade
from .collusion import collude as collude
from .composition import compose as compose
from .lifetimes import lifetime as lifetime
from .promises import approximate_dp as approximate_dp
