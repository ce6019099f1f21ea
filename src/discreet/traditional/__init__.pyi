from .method import Method as Method
from .rounding import cell_key as cell_key
from .rounding import random_rounding as random_rounding
from .rounding import suppression as suppression
