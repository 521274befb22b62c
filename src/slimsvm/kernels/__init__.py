"""The kernels: what one is, the five built-in ones, and how a name becomes one.

A kernel is a value with three verbs: `kernel(X, Z)` is the block of kernel values, `kernel.diag(X)` its
diagonal, `kernel.expand(X, Z, coef)` the weighted sum over Z without ever holding the block. The built-in
kernels run in the compiled core for dense input, and for CSR vectors with many entries; for other CSR input they
take sparse products block by block and apply the same map to them.
"""

from .base import Kernel, expand_in_blocks, outputs_that_fit
from .built_in import RBF, Laplacian, Linear, Polynomial, Sigmoid
from .names import KERNELS, as_kernel, is_positive_definite, one_if_equal, resolve_gamma
from .others import FunctionKernel, Precomputed
from .symmetry import check_symmetric, check_symmetric_matrix

__all__ = [
    "KERNELS",
    "RBF",
    "FunctionKernel",
    "Kernel",
    "Laplacian",
    "Linear",
    "Polynomial",
    "Precomputed",
    "Sigmoid",
    "as_kernel",
    "check_symmetric",
    "check_symmetric_matrix",
    "expand_in_blocks",
    "is_positive_definite",
    "one_if_equal",
    "outputs_that_fit",
    "resolve_gamma",
]
