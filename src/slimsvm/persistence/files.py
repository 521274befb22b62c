"""The two verbs: `save` an estimator to a file, and `load` it."""

from __future__ import annotations

import inspect as signatures
import os
import warnings
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..adapters.slim import SlimModel, slim
from ..adapters.whole import as_model
from ..atomic import write_whole
from ..errors import ModelFormatError
from ..expansion import KernelExpansion
from ..inputs import Inputs
from ..methods.base import TrainedEstimator
from ..methods.fitted import ProbabilitiesMixin
from ..model import Model
from ..readout import DensityReadout, FeaturesReadout, Readout, ValueReadout
from ..rounding import checked, lossless, rounded, same_expansion
from . import checks
from .container import ENTRIES, FORMAT_VERSION, MAX_BYTES, content_of, packed, unpacked
from .estimators import TABLE
from .expansions import read_expansion, write_expansion
from .extras import read_extras, write_extras
from .parts import LABELS, READOUTS, read_inputs, read_readout, write_inputs, write_readout
from .values import CannotBeStored, Reader, Writer

MOST_THREADS = 1024


def save(model: Any, path: str | os.PathLike[str], *, number: str | None = None) -> None:
    """Save a fitted model to a file that `load` reads without running any code.

    Parameters
    ----------
    model : fitted estimator, Pipeline, Model or KernelExpansion
        An estimator of this library is saved as it is. Anything else that `slimsvm.reduce` takes (an SVC, a pipeline
        with scalers and encoders before it) is saved as the model it is, and `load` gives back a slim estimator.
    path : path
        Written under another name and renamed when it is complete: never half a file.
    number : {"float64", "float32", "int16", "int8", "int4"} or None, default=None
        Format of the stored numbers; None means the smallest that loses nothing. Another one rounds the model, and what
        belongs to the model before (a covariance, a path) is left out.

    Raises
    ------
    ModelFormatError
        For kernels that are functions or matrices.

    Examples
    --------
    >>> import slimsvm, tempfile
    >>> from slimsvm.datasets import make_banana
    >>> X, y = make_banana(200, random_state=0)
    >>> model = slimsvm.CompactSVC(max_vectors=8, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     slimsvm.save(model, f"{folder}/banana.slim")
    ...     again = slimsvm.load(f"{folder}/banana.slim")
    >>> type(again).__name__, bool((again.decision_function(X) == model.decision_function(X)).all())
    ('CompactSVC', True)
    """
    write_whole(path, content_for(model, number))


def content_for(model: Any, number: str | None = None) -> bytes:
    """The bytes of a file with a model; they have been loaded once."""
    if hasattr(model, "reduction_") and hasattr(model, "estimator_"):  # Reduced: what it holds is the model
        return content_for(model.estimator_, number)
    estimator = model if type(model) in TABLE.values() else _slim_of(model)
    check_is_fitted(estimator)
    writer = Writer()
    if not hasattr(estimator, "expansion_"):  # a selector of features
        stored, n = _described(estimator, writer), int(estimator.n_features_in_)
        names = getattr(estimator, "feature_names_in_", None)
        stored["inputs"] = write_inputs(Inputs(n, None if names is None else tuple(names)), writer)
        return packed(stored, writer.tensors)
    f: KernelExpansion = estimator.expansion_
    small = lossless(f) if number is None else rounded(f, checked(number, f.kernel))
    if not same_expansion(small.expansion, f):
        estimator = _around(estimator, small.expansion)
    # the kernel first: no other refusal should hide that one
    expansion = write_expansion(small, writer)
    stored, whole = _described(estimator, writer), estimator.model_
    stored |= {
        "inputs": write_inputs(whole.inputs, writer),
        "expansion": expansion,
        "readout": write_readout(whole.readout, writer),
    }
    content = packed(stored, writer.tensors)
    if not same_expansion(estimator_from(content, "the file to be written").expansion_, small.expansion):
        raise ModelFormatError("the file to be written does not hold the numbers of the model.")
    return content


def _described(estimator: Any, writer: Writer) -> dict[str, Any]:
    """What is stored of an estimator besides its model."""
    return {
        "format_version": FORMAT_VERSION,
        "written_by": f"slimsvm {version('slimsvm')}",
        "estimator": type(estimator).__name__,
        "parameters": _parameters(estimator, writer),
        "inputs": None,
        "expansion": None,
        "readout": None,
        "extras": write_extras(estimator, writer),
    }


def _slim_of(model: Any) -> Any:
    """Any fitted model as a slim estimator."""
    whole = as_model(model)
    made = slim(whole)
    if hasattr(model, "n_jobs") and not isinstance(model, Model | KernelExpansion):
        made.n_jobs = model.n_jobs
    return made


def _around(estimator: Any, expansion: KernelExpansion) -> Any:
    """The same estimator around an expansion whose numbers are rounded."""
    if not isinstance(estimator, SlimModel):
        return estimator._with_expansion(expansion, getattr(estimator, "support_", None))
    made = slim(Model(estimator.model.inputs, expansion, estimator.model.readout))
    made.n_jobs = estimator.n_jobs
    return made


def _parameters(estimator: Any, writer: Writer) -> dict[str, Any]:
    """The constructor's parameters; those that a file cannot hold are at their defaults, which is said."""
    if isinstance(estimator, SlimModel):
        return {"n_jobs": None if estimator.n_jobs is None else int(estimator.n_jobs)}
    try:
        estimator._validate_params()
    except ValueError as error:
        raise ModelFormatError(f"{type(estimator).__name__} cannot be saved: {error}") from None
    stored: dict[str, Any] = {}
    for name, value in estimator.get_params(deep=False).items():
        try:
            stored[name] = writer.value(value, f"parameters.{name}")
        except CannotBeStored:
            default = signatures.signature(type(estimator)).parameters[name].default
            warnings.warn(
                f"save: {name}={value!r} cannot be stored; the loaded {type(estimator).__name__} has "
                f"{name}={default!r}, which changes nothing unless it is fitted again.",
                stacklevel=5,
            )
    return stored


def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Any:
    """Load a model that `save` has written.

    Parameters
    ----------
    path : path
    max_bytes : int, default=2**31
        A larger file is refused before any of it is read.

    Returns
    -------
    fitted estimator
        Of the class that was saved; a slim one for models of others and those that were reduced. Its answers are equal
        to the last bit.

    Raises
    ------
    ModelFormatError
        The file is not a model file, is damaged or of a newer format, or its parts do not fit together.

    Notes
    -----
    Nothing in a file names code: no class is imported and nothing is unpickled. The stated hash finds damage, not
    malice; but whatever a file says, it becomes a model of this library or an error.
    """
    return estimator_from(content_of(path, max_bytes), os.fspath(path))


def estimator_from(content: bytes, what: str) -> Any:
    """The estimator in the bytes of a file."""
    description, tensors = unpacked(content, what)
    try:
        reader = Reader(tensors)
        estimator = _estimator(checks.table(description, "the description", ENTRIES), reader)
        reader.finish("the file")
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        why = str(error) if isinstance(error, ModelFormatError) else checks.said(error)
        raise ModelFormatError(f"{what} does not hold a model: {why}") from None
    return estimator


def _estimator(entry: dict[str, Any], reader: Reader) -> Any:
    checks.text(entry["written_by"], "written_by")
    kind = TABLE[checks.text(entry["estimator"], "the estimator", TABLE)]
    inputs = read_inputs(entry["inputs"], reader)
    f = None if entry["expansion"] is None else read_expansion(entry["expansion"], reader)
    readout = None if f is None else read_readout(entry["readout"], f.n_outputs, reader)
    _check_fit(kind, inputs, f, readout)
    extras = read_extras(entry["extras"], kind.__name__, f, inputs.n_features, reader)
    made = _made(kind, entry["parameters"], inputs, f, readout, reader)
    made.n_features_in_ = inputs.n_features
    if inputs.names is not None:
        made.feature_names_in_ = np.array(inputs.names, dtype=object)
    vars(made).update(extras)
    return made


def _made(
    kind: type[Any],
    parameters: Any,
    inputs: Inputs,
    f: KernelExpansion | None,
    readout: Readout | None,
    reader: Reader,
) -> Any:
    """An estimator with these parameters around the model."""
    if issubclass(kind, SlimModel):
        assert f is not None
        assert readout is not None
        made: Any = slim(Model(inputs, f, readout))
        if type(made) is not kind:
            raise ModelFormatError(f"the readout is not that of a {kind.__name__}.")
        made.n_jobs = _n_jobs(checks.table(parameters, "the parameters", ("n_jobs",))["n_jobs"])
        return made
    known = list(signatures.signature(kind).parameters)
    given = checks.table(parameters, "the parameters", (), known)
    made = kind(**{name: reader.value(value, f"the parameter {name}") for name, value in given.items()})
    try:
        made._validate_params()
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelFormatError(
            f"the parameters are none of a {kind.__name__}: {checks.said(error)}"
        ) from None
    _n_jobs(made.n_jobs)
    if f is not None:
        made.expansion_, made.readout_ = f, readout
    return made


def _n_jobs(value: Any) -> int | None:
    """A number of threads that a machine may have."""
    if value is None:
        return None
    number = int(value) if isinstance(value, np.integer) else value
    if checks.whole(number, "n_jobs", -MOST_THREADS, MOST_THREADS) == 0:
        raise ModelFormatError("n_jobs must not be 0.")
    return number


def _check_fit(kind: type[Any], inputs: Inputs, f: KernelExpansion | None, readout: Readout | None) -> None:
    """Refuse an estimator whose inputs, expansion and readout are not those of one."""
    name = kind.__name__
    if (f is None) != (name == "ZeroNormSelector"):
        raise ModelFormatError(f"a {name} {'must' if f is None else 'cannot'} have an expansion.")
    if f is None:
        return
    if inputs.n_numbers != f.n_features:
        raise ModelFormatError(
            f"rows of {inputs.n_numbers} numbers do not fit an expansion of {f.n_features}."
        )
    if issubclass(kind, TrainedEstimator):
        if inputs.columns is not None or inputs.allowed:
            raise ModelFormatError(f"a {name} takes rows as they are.")
        labels = isinstance(readout, tuple(READOUTS[label] for label in LABELS))
        fits = {
            "EmpiricalFeatureMap": isinstance(readout, FeaturesReadout),
            "SparseKernelDensity": isinstance(readout, DensityReadout),
        }.get(name, labels if issubclass(kind, ClassifierMixin) else isinstance(readout, ValueReadout))
        if not fits:
            raise ModelFormatError(f"the readout is not that of a {name}.")
    if issubclass(kind, ProbabilitiesMixin) and getattr(readout, "probability", None) is None:
        raise ModelFormatError(f"a {name} must have probabilities.")
