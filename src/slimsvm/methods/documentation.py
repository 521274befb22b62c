"""What the docstrings of the estimators have in common, written once.

A line of a class docstring that is nothing but a name in angle brackets, such as ``<kernel>``, is replaced by the text
of that name below.
"""

from __future__ import annotations

import re
from typing import TypeVar

Kind = TypeVar("Kind", bound=type)

SHARED = {
    "kernel": """\
kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed"}, Kernel or callable
    The kernel; a function gets two arrays of rows and returns their kernel values.
gamma : {"scale", "auto"}, float or array of shape (n_features,), default="scale"
    Width of the rbf and laplacian kernels (an array gives each feature its own), factor of the others.
degree : int, default=3
    Degree of the polynomial kernel.
coef0 : float, default=0.0
    Constant of the polynomial and sigmoid kernels.""",
    "C": """\
C : float, default=1.0
    Larger means less regularisation.""",
    "class_weight": """\
class_weight : "balanced", dict or None, default=None
    Factor on the weights of each class.""",
    "verbose": """\
verbose : int, default=0
    Whether to print what the fit finds, and how far it is.""",
    "no randomness": """\
random_state : int, RandomState or None, default=None
    Not used: the method has no randomness.""",
    "n_jobs": """\
n_jobs : int or None, default=None
    Threads for kernel values; None means 1, -1 all processors. The result does not depend on it.""",
    "vectors": """\
expansion_ : KernelExpansion
    Kernel, vectors, coefficients and intercept as one value.
readout_ : Readout
    How the outputs become answers.
model_ : Model
    Both, and what is known of the inputs.
support_vectors_ : array or CSR of shape (n_vectors, n_features)
dual_coef_ : array of shape (n_outputs, n_vectors)
intercept_ : array of shape (n_outputs,)
n_vectors_ : int
gamma_ : float or array
    The width in use, for kernels that have one.""",
    "support": """\
support_ : array of shape (n_vectors,)
    Row of the training data each vector was.""",
    "classes": """\
classes_ : array of shape (n_classes,)""",
}


def documented(kind: Kind) -> Kind:
    """Put the shared texts into the docstring of a class."""

    def text(match: re.Match[str]) -> str:
        indent, name = match.groups()
        return "\n".join(indent + line for line in SHARED[name].split("\n"))

    kind.__doc__ = re.sub(r"^( *)<([\w ]+)>$", text, kind.__doc__ or "", flags=re.MULTILINE)
    return kind
