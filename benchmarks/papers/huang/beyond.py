"""What the paper only names: relevance vector machines beside another package, and the sparse kernel density."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from sklearn.metrics.pairwise import euclidean_distances, pairwise_kernels
from sklearn.neighbors import KernelDensity
from sklearn.svm import SVC

from harness import Array, Record, peak_bytes
from slimsvm import RVC, RVR, SparseKernelDensity
from slimsvm.datasets import make_banana, make_ringnorm
from slimsvm.methods.density.bandwidth import full_bandwidth

# set: (rows, gamma); ringnorm is where both packages have most to do
RELEVANCE = (
    ("crescents", 500),
    ("crescents", 2000),
    ("crescents", 4000),
    ("ringnorm", 500),
    ("ringnorm", 2000),
)
WIDTHS = {"crescents": 1.0, "ringnorm": 0.05}
MANY_ROWS = 20_000
DENSITY_ROWS, DENSITY_TEST_ROWS = 10_000, 5000
FREE_VECTORS, FREE_ROUNDS, FREE_GAIN = 100, 300, 1e-6
FREE_ROWS = (DENSITY_ROWS, 100_000)
# bandwidth and max_vectors
DENSITIES = (("cv", None), ("full", None), ("full", 100))


def fastrvm_is_there() -> bool:
    return importlib.util.find_spec("fastrvm") is not None


def relevance_rows(name: str, n: int) -> tuple[Array, Array]:
    """Rows, and labels of -1 and 1."""
    X, y = make_banana(n, random_state=0) if name == "crescents" else make_ringnorm(n, random_state=0)
    return X, np.where(y > 0, 1.0, -1.0)


def laplace_evidence(Phi: Array, y: Array, precision: Array) -> float:
    """The log marginal likelihood by Laplace, by one formula for both packages."""
    Z = Phi / np.sqrt(precision)  # weights of unit precision

    def value(w: Array) -> float:
        return float(np.logaddexp(0.0, -y * (Z @ w)).sum() + 0.5 * w @ w)

    def gradient(w: Array) -> Array:
        return w - Z.T @ (y * expit(-y * (Z @ w)))

    def hessian(w: Array) -> Array:
        f = Z @ w
        return np.eye(len(w)) + (Z.T * (expit(f) * expit(-f))) @ Z

    start = np.zeros(len(precision))
    mode = minimize(value, start, jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-6})
    return -float(mode.fun) - 0.5 * float(np.linalg.slogdet(hessian(mode.x))[1])


def relevance(*, name: str, n: int) -> Record:
    """RVC: seconds, vectors and log evidence; seconds of SVC with the same kernel."""
    X, signs = relevance_rows(name, n)
    gamma = WIDTHS[name]
    start = time.process_time()
    model = RVC(gamma=gamma, n_jobs=1).fit(X, signs)
    seconds = time.process_time() - start
    start = time.process_time()
    SVC(gamma=gamma).fit(X, signs)
    svc_seconds = time.process_time() - start
    Phi = np.column_stack(
        [np.ones(n), pairwise_kernels(X, model.support_vectors_, metric="rbf", gamma=gamma)]
    )
    precision = np.append(model.intercept_precision_[0], model.precision_[0])
    used = np.isfinite(precision)
    return {
        "seconds": round(seconds, 4),
        "svc_seconds": round(svc_seconds, 4),
        "vectors": int(model.n_vectors_),
        "evidence": round(laplace_evidence(Phi[:, used], signs, precision[used]), 3),
    }


def fastrvm(*, name: str, n: int) -> Record:
    """What fastrvm's classifier does, with a constant column among the candidates as RVC has it.

    Its own intercept is a column that never leaves, with a flat prior: another model. `reported` is the log evidence
    that it gives itself.
    """
    from fastrvm import _sparsebayes_bindings as bindings

    X, signs = relevance_rows(name, n)
    start = time.process_time()
    Phi = np.column_stack([pairwise_kernels(X, metric="rbf", gamma=WIDTHS[name]), np.ones(n)])
    solver = bindings.SparseBayes(bindings.Likelihood.Bernoulli, 10_000, False, False, False, True)
    found = solver.inference(Phi, np.where(signs > 0, 1, 0))
    seconds = time.process_time() - start
    columns = found["relevant_idx"].ravel()
    Phi = Phi[:, columns]
    # it normalises the columns, and divides the precisions by the squared norms where it should multiply: the mode and
    # the evidence it reports belong to these
    precision = found["alpha"].ravel() * np.square(Phi).sum(axis=0) ** 2
    return {
        "seconds": round(seconds, 4),
        "vectors": int((columns < n).sum()),
        "evidence": round(laplace_evidence(Phi, signs, precision), 3),
        "reported": round(float(np.ravel(found["log_marginal_likelihood_trace"])[-1]), 3),
    }


def forget_peak() -> None:
    """Let the most memory of this process be counted from here, where the system can."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def peak_since() -> int:
    """Bytes."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return peak_bytes()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def many_rows(*, kind: str) -> Record:
    """RVC or RVR on 20,000 rows: seconds, vectors, most memory of the process."""
    X, y = make_banana(MANY_ROWS, random_state=0)
    model: Any = RVC(gamma=1.0, n_jobs=1)
    target: Array = y
    if kind == "RVR":
        noise = np.random.default_rng(1).standard_normal(MANY_ROWS)
        model, target = RVR(gamma=1.0, n_jobs=1), np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.2 * noise
    forget_peak()
    start = time.process_time()
    model.fit(X, target)
    seconds = time.process_time() - start
    return {
        "seconds": round(seconds, 2),
        "vectors": int(model.n_vectors_),
        "gigabytes": round(peak_since() / 2**30, 2),
    }


def mixture_rows(d: int, n: int, seed: int) -> Array:
    """Rows of a mixture of four Gaussians, their first d coordinates."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0, 0], [3, 1], [-2, 3], [1, -3.0]])
    widths = np.array([1, 0.5, 0.8, 0.6])
    kind = rng.choice(4, n, p=[0.4, 0.2, 0.25, 0.15])
    return centres[kind, :d] + widths[kind, None] * rng.standard_normal((n, d))


def density_rows(d: int) -> tuple[Array, Array]:
    """Rows to fit, and others."""
    rows = mixture_rows(d, DENSITY_ROWS + DENSITY_TEST_ROWS, 0)
    return rows[:DENSITY_ROWS], rows[DENSITY_ROWS:]


def density(*, d: int, bandwidth: str, limit: int | None) -> Record:
    """Mean held-out log-likelihood of the sparse density and of the full one with its bandwidth."""
    X, new = density_rows(d)
    start = time.process_time()
    model = SparseKernelDensity(bandwidth=bandwidth, max_vectors=limit, n_jobs=1).fit(X)
    seconds = time.process_time() - start
    full = KernelDensity(bandwidth=model.bandwidth_).fit(X).score(new) / len(new)
    return {
        "seconds": round(seconds, 2),
        "bandwidth": round(float(model.bandwidth_), 4),
        "vectors": int(model.n_vectors_),
        "sparse": round(float(model.score(new)) / len(new), 5),
        "full": round(float(full), 5),
    }


def free_density(*, d: int, n_fitted: int) -> Record:
    """A hundred kernels of the full estimate's bandwidth that may lie anywhere, by expectation-maximisation.

    Fitted to the rows, or to so many others of the same law: what few kernels of that width can do, from one start.
    """
    X, new = density_rows(d)
    h = full_bandwidth(X, np.ones(len(X)))
    rows = X if n_fitted == len(X) else mixture_rows(d, n_fitted, 1)
    means = rows[np.random.default_rng(0).choice(len(rows), FREE_VECTORS, replace=False)]
    weights = np.full(FREE_VECTORS, 1 / FREE_VECTORS)
    constant = 0.5 * d * np.log(2 * np.pi * h**2)

    def log_parts(points: Array) -> Array:
        return np.log(weights) - 0.5 * euclidean_distances(points, means, squared=True) / h**2 - constant

    before = -np.inf
    for n_iter in range(1, FREE_ROUNDS + 1):
        logs = log_parts(rows)
        log_p = logsumexp(logs, axis=1)
        share = np.exp(logs - log_p[:, None])
        weights, means = share.mean(axis=0), share.T @ rows / share.sum(axis=0)[:, None]
        if log_p.mean() - before < FREE_GAIN:
            break
        before = log_p.mean()
    held_out = float(logsumexp(log_parts(new), axis=1).mean())
    return {"bandwidth": round(float(h), 4), "held_out": round(held_out, 5), "rounds": n_iter}
