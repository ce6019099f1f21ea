from .cells import Cells as Cells
from .families import Priors as Priors
