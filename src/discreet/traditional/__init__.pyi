from .methods import Method as Method
from .methods import cell_key as cell_key
from .methods import random_rounding as random_rounding
from .methods import suppression as suppression
