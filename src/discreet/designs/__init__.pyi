from .families import Priors as Priors
