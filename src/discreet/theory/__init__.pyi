from ..designs.ties import uniqueness as uniqueness
from ..measure.remaps import user_utility as user_utility
from ..measure.remaps import vulnerability as vulnerability
from .derivation import derivable as derivable
from .graphs import query_graph as query_graph
from .minimax import minimax_remap as minimax_remap
from .regrets import regret as regret
