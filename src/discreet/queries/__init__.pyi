from ..mechanisms.two_stage import rounded as rounded
from .calculator import sensitivity as sensitivity
from .curves import tradeoff as tradeoff
from .queries import query as query
from .refinement import continuous_bounds as continuous_bounds
from .splits import admissible as admissible
from .sums import exact_mean as exact_mean
from .sums import exact_sum as exact_sum
