"""How a fitted estimator, a pipeline included, becomes one `Model`: what files and exports take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from ..inputs import Category, Column, Inputs
from ..methods.zero_norm.selector import ZeroNormSelector
from ..model import Model
from .models import as_reducible
from .table_encoder import TableEncoder

FOLDED = "TableEncoder, StandardScaler, MinMaxScaler, MaxAbsScaler, OneHotEncoder, SimpleImputer, ColumnTransformer"


def as_model(estimator: Any) -> Model:
    """The model of a fitted estimator; the steps of a pipeline before it become its inputs.

    Parameters
    ----------
    estimator : fitted estimator, Pipeline, KernelExpansion or Model
        Everything `slimsvm.reduce` takes, `SparseKernelDensity`, and what `reduce` gives back. A pipeline may have
        a TableEncoder, scalers, one-hot encoders, imputers and column transformers of these before its last step.

    Returns
    -------
    Model
    """
    if isinstance(estimator, Model):
        return estimator
    if hasattr(estimator, "reduction_") and hasattr(
        estimator, "estimator_"
    ):  # Reduced: what it holds is the model
        estimator = estimator.estimator_
    if isinstance(estimator, ZeroNormSelector):
        raise TypeError(
            "ZeroNormSelector is no model to write or read: it selects features and has no vectors."
        )
    if not hasattr(type(estimator), "model_") and not isinstance(estimator, Pipeline):
        return as_reducible(estimator).model
    check_is_fitted(estimator)
    if not isinstance(estimator, Pipeline):
        whole: Model = estimator.model_
        return whole
    *before, (_, last) = estimator.steps
    model = as_model(last)
    before = [step for _, step in before if not _does_nothing(step)]
    if not before:
        return model
    inputs = _raw(before[0])
    for step in before:
        inputs = _after(step, inputs)
    if inputs.n_numbers != model.inputs.n_features:
        raise ValueError(
            f"the steps before {type(last).__name__} give {inputs.n_numbers} features, but it has "
            f"{model.inputs.n_features}."
        )
    return folded(inputs, model)


def folded(inputs: Inputs, model: Model) -> Model:
    """The model with these inputs before its own."""
    if inputs.columns is None:  # the raw row itself, perhaps with names
        return replace(model, inputs=replace(model.inputs, names=inputs.names))
    return replace(model, inputs=_joined(inputs, model.inputs))


def _does_nothing(step: Any) -> bool:
    return (
        step is None or step == "passthrough" or (isinstance(step, FunctionTransformer) and step.func is None)
    )


def _raw(first: Any) -> Inputs:
    """The raw row as the first step knows it."""
    names = getattr(first, "feature_names_in_", None)
    n = int(first.n_features_in_)
    return Inputs(n, None if names is None else tuple(names), tuple(Column(j) for j in range(n)))


def _joined(first: Inputs, second: Inputs) -> Inputs:
    """One after the other; the second takes numbers."""
    if second.columns is None:
        return first
    assert first.columns is not None
    columns = tuple(
        _scaled(first.columns[column.source], column.shift, column.scale) for column in second.columns
    )
    return replace(first, columns=columns)


def _scaled(column: Column, shift: float, scale: float) -> Column:
    """The column with (value - shift) * scale after what it does already."""
    if column.scale == 0:
        raise ValueError(
            f"column {column.source} is made constant before the model, which cannot be folded in."
        )
    return replace(
        column, shift=column.shift + float(shift) / column.scale, scale=column.scale * float(scale)
    )


def _after(step: Any, inputs: Inputs) -> Inputs:
    """The inputs of what comes after the step, in terms of the raw row."""
    if _does_nothing(step):
        return inputs
    if isinstance(step, ColumnTransformer):
        return _side_by_side(step, inputs)
    if isinstance(step, Pipeline):
        for _, part in step.steps:
            inputs = _after(part, inputs)
        return inputs
    if isinstance(step, OneHotEncoder):
        return _encoded(step, inputs)
    if isinstance(step, SimpleImputer):
        return _imputed(step, inputs)
    if isinstance(step, TableEncoder):
        return _from_table(step, inputs)
    given = inputs.columns or ()
    d = len(given)
    if isinstance(step, StandardScaler):
        shift = np.zeros(d) if not step.with_mean else step.mean_
        scale = np.ones(d) if not step.with_std else 1.0 / step.scale_
    elif isinstance(step, MinMaxScaler) and not step.clip:
        shift, scale = -step.min_ / step.scale_, step.scale_
    elif isinstance(step, MaxAbsScaler):
        shift, scale = np.zeros(d), 1.0 / step.scale_
    else:
        clipped = " with clip=True" if isinstance(step, MinMaxScaler) else ""
        raise TypeError(
            f"the step {type(step).__name__}{clipped} of the pipeline cannot be folded into the model; "
            f"{FOLDED} can. Give the last step alone and apply the others yourself, or convert the pipeline with "
            "skl2onnx."
        )
    columns = tuple(_scaled(column, shift[j], scale[j]) for j, column in enumerate(given))
    return replace(inputs, columns=columns)


def _plain_category(value: Any) -> Category:
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, str | int | float | bool) or value != value:
        raise TypeError(
            f"the category {value!r} of a OneHotEncoder cannot be folded into the model; only text and numbers can."
        )
    return value


def _encoded(step: Any, inputs: Inputs) -> Inputs:
    assert inputs.columns is not None
    if getattr(step, "_infrequent_enabled", False):
        raise TypeError("a OneHotEncoder that joins infrequent categories cannot be folded into the model.")
    columns: list[Column] = []
    allowed = dict(inputs.allowed)
    for j, values in enumerate(step.categories_):
        given = inputs.columns[j]
        if given != Column(given.source):
            raise TypeError("a OneHotEncoder after another step cannot be folded into the model.")
        plain = tuple(map(_plain_category, values))
        dropped = None if step.drop_idx_ is None else step.drop_idx_[j]
        columns += [Column(given.source, value) for k, value in enumerate(plain) if k != dropped]
        if step.handle_unknown == "error":
            allowed[given.source] = plain
    return replace(inputs, columns=tuple(columns), allowed=tuple(sorted(allowed.items())))


def _from_table(step: TableEncoder, inputs: Inputs) -> Inputs:
    """What the encoder found, of the columns it was given."""
    given = inputs.columns or ()
    if any(column != Column(column.source) for column in given):
        raise TypeError(
            "a TableEncoder after another step cannot be folded into the model; make it the first."
        )
    found, source = step.inputs_, [column.source for column in given]
    assert found.columns is not None
    return replace(
        inputs,
        columns=tuple(replace(column, source=source[column.source]) for column in found.columns),
        allowed=_by_column(inputs.allowed, [(source[j], values) for j, values in found.allowed]),
        fill=_by_column(inputs.fill, [(source[j], value) for j, value in found.fill]),
    )


def _imputed(step: Any, inputs: Inputs) -> Inputs:
    given = inputs.columns or ()
    missing_is = step.missing_values
    if step.add_indicator or not (missing_is is None or missing_is != missing_is):
        raise TypeError(
            "a SimpleImputer with an indicator, or of other missing values than NaN and None, cannot be folded into "
            "the model."
        )
    if any(column.category is not None or column.shift or column.scale != 1 for column in given):
        raise TypeError(
            "a SimpleImputer after another step cannot be folded into the model; make it the first."
        )
    if any(value != value for value in step.statistics_):
        raise TypeError("a SimpleImputer that leaves columns out cannot be folded into the model.")
    fill = [
        (column.source, _plain_category(value)) for column, value in zip(given, step.statistics_, strict=True)
    ]
    return replace(inputs, fill=_by_column(inputs.fill, fill))


def _by_column(
    before: Iterable[tuple[int, Any]], new: Iterable[tuple[int, Any]]
) -> tuple[tuple[int, Any], ...]:
    """Both, each column once."""
    return tuple(sorted({**dict(before), **dict(new)}.items()))


def _side_by_side(step: Any, inputs: Inputs) -> Inputs:
    assert inputs.columns is not None
    columns: list[Column] = []
    allowed, fill = dict(inputs.allowed), dict(inputs.fill)
    slices = {name: part for name, part in step.output_indices_.items() if part.stop > part.start}
    for name, transformer, chosen in step.transformers_:
        if name not in slices or (isinstance(transformer, str) and transformer == "drop"):
            continue
        numbers = _column_numbers(step, chosen, len(inputs.columns))
        part = replace(inputs, columns=tuple(inputs.columns[j] for j in numbers))
        made = _after(transformer, part)
        assert made.columns is not None
        columns += made.columns
        allowed |= dict(made.allowed)
        fill |= dict(made.fill)
    return replace(
        inputs,
        columns=tuple(columns),
        allowed=tuple(sorted(allowed.items())),
        fill=tuple(sorted(fill.items())),
    )


def _column_numbers(step: Any, chosen: Any, d: int) -> list[int]:
    """Column numbers from names, numbers, a slice or a mask."""
    if isinstance(chosen, slice):
        if isinstance(chosen.start, str) or isinstance(chosen.stop, str):
            raise TypeError(
                "a ColumnTransformer that chooses a slice of names cannot be folded into the model."
            )
        return list(range(d))[chosen]
    listed = [chosen] if isinstance(chosen, str | int) else list(chosen)
    if listed and all(isinstance(item, bool | np.bool_) for item in listed):
        return [j for j, taken in enumerate(listed) if taken]
    names = list(getattr(step, "feature_names_in_", ()))
    return [names.index(item) if isinstance(item, str) else int(item) % d for item in listed]
