"""Model files of LIBSVM, written."""

from __future__ import annotations

import os
import warnings
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from ..adapters.whole import as_model
from ..atomic import write_whole
from ..errors import ModelFormatError
from ..expansion import KernelExpansion
from ..kernels import RBF, Linear, Polynomial, Sigmoid
from ..model import Model
from ..probability import Probability
from ..readout import (
    InlierReadout,
    LabelReadout,
    LargestReadout,
    SignReadout,
    ValueReadout,
)
from ..rows import Array, Rows

# LIBSVM's labels are C's int.
LARGEST_LABEL = 2**31 - 1


def to_libsvm(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model as a file that LIBSVM reads: `svm-predict`, its bindings, and whatever else knows the format.

    Parameters
    ----------
    model : fitted estimator, Pipeline, Model or KernelExpansion
        Whatever `slimsvm.save` takes, with the kernel rbf, linear, poly or sigmoid and rows that it takes as they are.
        Labels must be whole numbers.
    path : path
        Written under another name and renamed when it is complete.

    Raises
    ------
    ModelFormatError
        LIBSVM has no such model: another kernel, a width per feature, a projection, inputs that are scaled or encoded,
        several targets, features, densities, labels that are not whole numbers.

    Warns
    -----
    UserWarning
        The probabilities of the model are not LIBSVM's and are left out.

    Notes
    -----
    LIBSVM decides between more than two classes by the votes of pairs, and each of its vectors belongs to one class.
    One class against the rest is the same as votes with the differences of the outputs; a vector is then written once
    for each class that uses it. All numbers are written with 17 digits: `from_libsvm` reads the same ones back.
    """
    write_whole(path, text_of(as_model(model)).encode("ascii"))


def text_of(model: Model) -> str:
    """The lines of a model file of LIBSVM."""
    f, readout = model.expansion, model.readout
    if model.inputs.columns is not None:
        _refuse(
            "scales or encodes its inputs; give the last step of the pipeline alone, and LIBSVM the rows that come out "
            "of the steps before it"
        )
    kernel = _kernel_lines(f)
    f = f.astype(np.float64)
    if isinstance(readout, LabelReadout):
        kind, header, coef, vectors = _classifier(f, readout)
    elif isinstance(readout, ValueReadout | InlierReadout):
        if f.n_outputs > 1:
            _refuse(f"has {f.n_outputs} targets, and LIBSVM one; write one model for each")
        kind = "epsilon_svr" if isinstance(readout, ValueReadout) else "one_class"
        header, coef, vectors = [f"rho {_text(-f.intercept)}"], f.coef.T, f.vectors
    else:
        _refuse("gives features or densities, not labels or values")
    n_classes = len(readout.classes) if isinstance(readout, LabelReadout) else 2
    lines = [f"svm_type {kind}", *kernel, f"nr_class {n_classes}", f"total_sv {coef.shape[1]}", *header, "SV"]
    return "\n".join([*lines, *_vector_lines(coef, vectors)]) + "\n"


def _refuse(why: str) -> NoReturn:
    raise ModelFormatError(f"a file of LIBSVM cannot hold this model: it {why}.")


def _text(values: Array) -> str:
    return " ".join(f"{value + 0.0:.17g}" for value in values.tolist())  # not -0


def _kernel_lines(f: KernelExpansion) -> list[str]:
    kernel = f.kernel
    if f.projection is not None:
        _refuse("has a projection; LIBSVM compares rows with vectors as they are")
    if isinstance(kernel, Linear):
        return ["kernel_type linear"]
    if isinstance(kernel, RBF):
        widths = np.unique(kernel.gamma)
        if len(widths) > 1:
            _refuse(
                "has a width for each feature, and LIBSVM one for all; train on columns that are multiplied by the "
                "roots of the widths, or with metric='one'"
            )
        return ["kernel_type rbf", f"gamma {_text(widths)}"]
    if isinstance(kernel, Polynomial):
        numbers = [f"gamma {_text(np.array([kernel.gamma]))}", f"coef0 {_text(np.array([kernel.coef0]))}"]
        return ["kernel_type polynomial", f"degree {kernel.degree}", *numbers]
    if isinstance(kernel, Sigmoid):
        numbers = [f"gamma {_text(np.array([kernel.gamma]))}", f"coef0 {_text(np.array([kernel.coef0]))}"]
        return ["kernel_type sigmoid", *numbers]
    _refuse(f"has the kernel {kernel!r}, and LIBSVM has rbf, linear, poly and sigmoid")


def _classifier(f: KernelExpansion, readout: LabelReadout) -> tuple[str, list[str], Array, Rows]:
    """Header, coefficients (n_classes - 1, vectors) and vectors, those of one class together."""
    labels = _labels(readout)
    if isinstance(readout, SignReadout):
        # a positive decision is the first label, and zero the second
        sign = -1.0 if readout.zero else 1.0
        labels = labels if readout.zero else labels[::-1]
        coef, rho = sign * f.coef[:, :1], -sign * f.intercept
        of_class = np.where(coef[:, 0] > 0, 0, 1)
        order = np.argsort(of_class, kind="stable")
        if readout.probability is not None and readout.probability.link == "normal":
            _left_out("by the normal distribution")
        more = _probability_lines(readout.probability, sign)
        rows, stored = f.vectors[order], coef[order].T
    else:
        if readout.probability is not None:
            _left_out("of several classes")
        by_pair, intercept = f.coef, f.intercept
        n, more = len(labels), []
        if isinstance(readout, LargestReadout):
            stored, of_class, order = _against_the_rest(f.coef, n)
            first, second = np.triu_indices(n, 1)
            rho = intercept[second] - intercept[first]
        else:
            stored, of_class, order = _by_pairs(by_pair, n)
            rho = -intercept
        rows = f.vectors[order]
    counts = np.bincount(of_class, minlength=len(labels))
    lines = [f"rho {_text(rho)}", "label " + " ".join(map(str, labels)), *more]
    return "c_svc", [*lines, "nr_sv " + " ".join(map(str, counts))], stored, rows


def _labels(readout: LabelReadout) -> list[int]:
    labels = readout.classes.tolist()
    if not all(type(label) in (int, bool) and abs(label) <= LARGEST_LABEL for label in labels):
        _refuse(
            f"has labels that are not whole numbers of 32 bits ({labels[0]!r}, ...); number the classes and train "
            "again, or replace the classes of its readout"
        )
    return [int(label) for label in labels]


def _against_the_rest(coef: Array, n: int) -> tuple[Array, Array, Array]:  # (m, n)
    """Coefficients, classes and numbers of the vectors for votes of f_i - f_j: each once a class that uses it."""
    of_class, order = np.nonzero(coef.T)
    each = coef[order, of_class]
    # row r of a vector of class c is for the pair with class r, or r + 1 from c on; c is the first of it then
    stored = np.where(np.arange(n - 1)[:, None] >= of_class, each, -each)
    return stored, of_class, order


def _by_pairs(coef: Array, n: int) -> tuple[Array, Array, Array]:  # (m, n_pairs)
    """The same from a coefficient for each pair: as few copies of a vector as cover the pairs it takes part in."""
    first, second = np.triu_indices(n, 1)
    entries: list[tuple[int, int, Array]] = []  # class, vector, its n - 1 coefficients
    for j, row in enumerate(coef):
        left = row != 0
        while left.any() or not (entries and entries[-1][1] == j):
            uses = np.bincount(np.concatenate([first[left], second[left]]), minlength=n).astype(float)
            # in a pair alone, a positive coefficient is one of the first class
            signs = np.bincount(np.where(row > 0, first, second)[left], minlength=n)
            c = int(np.argmax(uses + signs / (2.0 * len(first))))
            mine = left & ((first == c) | (second == c))
            its = np.zeros(n - 1)
            other = np.where(first == c, second, first)[mine]
            its[np.where(other > c, other - 1, other)] = row[mine]
            entries.append((c, j, its))
            left &= ~mine
    entries.sort(key=lambda entry: entry[:2])
    stored = np.array([its for *_, its in entries]).reshape(-1, n - 1).T
    return (
        stored,
        np.array([c for c, *_ in entries], dtype=np.intp),
        np.array([j for _, j, _ in entries], dtype=np.intp),
    )


def _probability_lines(probability: Probability | None, sign: float) -> list[str]:
    """LIBSVM's sigmoid 1 / (1 + exp(A f + B)) of the first label."""
    if probability is None or probability.link == "normal":
        return []
    factor, offset = (1.0, ()) if probability.link == "logistic" else (probability.factor, probability.offset)
    # ours is the probability of the second class: the first label unless all signs are turned
    B = -sign * (offset[0] if offset else 0.0)
    return [f"probA {_text(np.array([-factor]))}", f"probB {_text(np.array([B]))}"]


def _left_out(which: str) -> None:
    warnings.warn(f"to_libsvm: the probabilities {which} are not LIBSVM's and are left out.", stacklevel=5)


def _vector_lines(coef: Array, vectors: Rows) -> list[str]:
    rows = vectors if sparse.issparse(vectors) else sparse.csr_array(vectors)
    lines = []
    for j in range(coef.shape[1]):
        part = slice(rows.indptr[j], rows.indptr[j + 1])
        entries = zip(rows.indices[part].tolist(), rows.data[part].tolist(), strict=True)
        words = [f"{index + 1}:{value:.17g}" for index, value in entries if value != 0]
        lines.append(" ".join([_text(coef[:, j]), *words]) + " ")
    return lines
