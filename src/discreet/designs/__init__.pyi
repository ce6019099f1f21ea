from .cells import Cells as Cells
from .certificate import Certificate as Certificate
from .families import Priors as Priors
from .problem import Problem as Problem
