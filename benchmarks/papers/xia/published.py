"""What Xia, Li and Irwin (2008) print: no table, but parameters and sizes behind ten figures.

The kernel is exp(-|x - z|^2 / (2 sigma^2)) (eq. 3), and gamma weighs the squared errors (eq. 5 and 12).
"""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """Parameters of the plain LS-SVM as printed."""

    sigma: float
    gamma: float
    n_rows: int


# section 4.1
SPIRALS_FULL = Printed(sigma=11.33, gamma=0.16, n_rows=194)
SPIRALS_SIGMA = 1.0
SPIRALS_SIZES = (192, 120, 72)  # the first by ten-fold cross-validation
# section 4.2: sigma of the plain machine is of other units than those of the sparse ones
BOARD_FULL = Printed(sigma=1.6372, gamma=0.12416, n_rows=1000)
BOARD_SPARSE = ((100, 0.06), (70, 0.02))  # vectors, sigma as a share of the side
