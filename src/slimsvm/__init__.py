"""Kernel machines with very few support vectors."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adapters.libsvm import from_libsvm as from_libsvm
    from .adapters.reduce import reduce as reduce
    from .adapters.reduced import Reduced as Reduced
    from .adapters.table_encoder import TableEncoder as TableEncoder
    from .errors import BudgetError as BudgetError
    from .errors import DataFormatError as DataFormatError
    from .errors import LongFitWarning as LongFitWarning
    from .errors import ModelFormatError as ModelFormatError
    from .errors import SlimsvmError as SlimsvmError
    from .evaluation import vector_path as vector_path
    from .expansion import KernelExpansion as KernelExpansion
    from .export.c import to_c as to_c
    from .export.javascript import to_js as to_js
    from .export.libsvm import to_libsvm as to_libsvm
    from .export.onnx import to_onnx as to_onnx
    from .methods.compact.estimators import CompactSVC as CompactSVC
    from .methods.compact.estimators import CompactSVR as CompactSVR
    from .methods.density.estimators import SparseKernelDensity as SparseKernelDensity
    from .methods.empirical.estimators import EmpiricalFeatureMap as EmpiricalFeatureMap
    from .methods.empirical.estimators import EmpiricalSVC as EmpiricalSVC
    from .methods.fixed_size.estimators import FixedSizeLSSVC as FixedSizeLSSVC
    from .methods.fixed_size.estimators import FixedSizeLSSVR as FixedSizeLSSVR
    from .methods.full.estimators import FullSVC as FullSVC
    from .methods.greedy.estimators import GreedyLSSVC as GreedyLSSVC
    from .methods.greedy.estimators import GreedyLSSVR as GreedyLSSVR
    from .methods.greedy.search import n_candidates_for as n_candidates_for
    from .methods.least_squares.estimators import LSSVC as LSSVC
    from .methods.least_squares.estimators import LSSVR as LSSVR
    from .methods.least_squares.pruned import PrunedLSSVC as PrunedLSSVC
    from .methods.one_norm.estimators import LPSVC as LPSVC
    from .methods.one_norm.estimators import SparsityControlledSVC as SparsityControlledSVC
    from .methods.pursuit.gaussian_process import SparseGreedyGPC as SparseGreedyGPC
    from .methods.pursuit.gaussian_process import SparseGreedyGPR as SparseGreedyGPR
    from .methods.pursuit.matching import MatchingPursuitSVC as MatchingPursuitSVC
    from .methods.pursuit.matching import MatchingPursuitSVR as MatchingPursuitSVR
    from .methods.relevance.estimators import RVC as RVC
    from .methods.relevance.estimators import RVR as RVR
    from .methods.relevance.probit import SparseProbitClassifier as SparseProbitClassifier
    from .methods.two_stage.estimators import TwoStageLSSVC as TwoStageLSSVC
    from .methods.two_stage.estimators import TwoStageLSSVR as TwoStageLSSVR
    from .methods.zero_norm.estimators import ZeroNormSVC as ZeroNormSVC
    from .methods.zero_norm.estimators import ZeroNormSVR as ZeroNormSVR
    from .methods.zero_norm.selector import ZeroNormSelector as ZeroNormSelector
    from .model import Model as Model
    from .path import VectorPath as VectorPath
    from .persistence.estimators import TRUSTED_TYPES as TRUSTED_TYPES
    from .persistence.files import load as load
    from .persistence.files import save as save
    from .persistence.inspection import ModelFile as ModelFile
    from .persistence.inspection import inspect as inspect
    from .plotting import RelevanceDisplay as RelevanceDisplay
    from .plotting import SizeScoreDisplay as SizeScoreDisplay
    from .plotting import VectorsDisplay as VectorsDisplay
    from .relevance import feature_relevance as feature_relevance
    from .report.write import write_report as write_report

__version__ = version("slimsvm")

# Where each public name is defined. Nothing is imported before it is asked for, so that `import slimsvm` and the
# command line start at once. A new estimator is one line here.
_HOMES = {
    "CompactSVC": "methods.compact.estimators",
    "CompactSVR": "methods.compact.estimators",
    "SparseKernelDensity": "methods.density.estimators",
    "EmpiricalFeatureMap": "methods.empirical.estimators",
    "EmpiricalSVC": "methods.empirical.estimators",
    "FixedSizeLSSVC": "methods.fixed_size.estimators",
    "FixedSizeLSSVR": "methods.fixed_size.estimators",
    "FullSVC": "methods.full.estimators",
    "GreedyLSSVC": "methods.greedy.estimators",
    "GreedyLSSVR": "methods.greedy.estimators",
    "n_candidates_for": "methods.greedy.search",
    "LSSVC": "methods.least_squares.estimators",
    "LSSVR": "methods.least_squares.estimators",
    "PrunedLSSVC": "methods.least_squares.pruned",
    "LPSVC": "methods.one_norm.estimators",
    "SparsityControlledSVC": "methods.one_norm.estimators",
    "SparseGreedyGPC": "methods.pursuit.gaussian_process",
    "SparseGreedyGPR": "methods.pursuit.gaussian_process",
    "MatchingPursuitSVC": "methods.pursuit.matching",
    "MatchingPursuitSVR": "methods.pursuit.matching",
    "RVC": "methods.relevance.estimators",
    "RVR": "methods.relevance.estimators",
    "SparseProbitClassifier": "methods.relevance.probit",
    "TwoStageLSSVC": "methods.two_stage.estimators",
    "TwoStageLSSVR": "methods.two_stage.estimators",
    "ZeroNormSVC": "methods.zero_norm.estimators",
    "ZeroNormSVR": "methods.zero_norm.estimators",
    "ZeroNormSelector": "methods.zero_norm.selector",
    "from_libsvm": "adapters.libsvm",
    "reduce": "adapters.reduce",
    "Reduced": "adapters.reduced",
    "TableEncoder": "adapters.table_encoder",
    "BudgetError": "errors",
    "DataFormatError": "errors",
    "LongFitWarning": "errors",
    "ModelFormatError": "errors",
    "SlimsvmError": "errors",
    "vector_path": "evaluation",
    "KernelExpansion": "expansion",
    "to_js": "export.javascript",
    "to_onnx": "export.onnx",
    "to_libsvm": "export.libsvm",
    "to_c": "export.c",
    "Model": "model",
    "VectorPath": "path",
    "TRUSTED_TYPES": "persistence.estimators",
    "load": "persistence.files",
    "save": "persistence.files",
    "ModelFile": "persistence.inspection",
    "inspect": "persistence.inspection",
    "RelevanceDisplay": "plotting",
    "SizeScoreDisplay": "plotting",
    "feature_relevance": "relevance",
    "write_report": "report.write",
    "VectorsDisplay": "plotting",
}

__all__ = [*sorted(_HOMES), "datasets"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    elif name == "datasets":
        value = import_module(".datasets", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
