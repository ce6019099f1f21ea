from .mechanisms.rounding import cell_key as cell_key
from .mechanisms.rounding import random_rounding as random_rounding
from .mechanisms.rounding import suppression as suppression
