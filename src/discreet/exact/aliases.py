"""The types that people may give for a number, under one name for signatures."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

# an exact number as people write it (see discreet.exact.arithmetic): "1/3", 0.1, Fraction(1, 3), Decimal("0.1"), np.float32(0.1)
Rational = int | str | Fraction | Decimal | float | np.number[Any]
