"""scikit-learn's estimator checks for the zero-norm and Bayesian family, for every kernel."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import slimsvm

MODELS = (
    [
        slimsvm.ZeroNormSVC(kernel=kernel, **options)
        for kernel in ("rbf",)
        for options in ({}, {"variant": "linear"}, {"variant": "multiplicative"}, {"margin": 0.1}, {"p": 1.0})
    ]
    + [slimsvm.ZeroNormSVC(kernel=k) for k in ("linear", "poly", "sigmoid", "laplacian", "precomputed")]
    + [
        slimsvm.ZeroNormSVR(kernel=k)
        for k in ("rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed")
    ]
)


@parametrize_with_checks(MODELS)
def test_estimator_checks(estimator, check):
    check(estimator)
