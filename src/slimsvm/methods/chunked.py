"""Fits in chunks: a sample is trained on as ever, then all rows give the coefficients (`slimsvm.chunks` says how)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import _fit_context, is_classifier

from ..chunks.blocks import ArrayReader, Reader
from ..chunks.passes import LocalPasses, Passes
from ..chunks.sample import SAMPLE_ROWS, Size, Survey, survey
from ..chunks.statistics import Targets
from ..kernels import Kernel
from ..rows import sound
from ..threads import n_threads
from ..training import Trained, TrainingSet, class_weights
from ..words import count
from .base import KernelEstimator, Run


@dataclass(frozen=True, eq=False)
class AllRows:
    """All rows of a fit in chunks, for what the sample cannot say.

    Parameters
    ----------
    passes : Passes
    targets : Targets
        Labels -1 and +1 with their weights, or targets as they were given.
    """

    passes: Passes
    targets: Targets


class FitsInChunks(KernelEstimator):
    """`fit_chunks`, and `fit` on more rows than are trained on at once."""

    # the sample a fit in chunks begins with
    _sample_size: ClassVar[Size] = Size()
    # whether a row of the sample has the weight of the rows it stands for, or its own alone
    _sample_stands_for_all: ClassVar[bool] = True

    def _train_on_all(self, data: TrainingSet, kernel: Kernel, run: Run, every: AllRows) -> Trained:
        """Train on a sample, then solve for the coefficients on all rows."""
        raise NotImplementedError

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit_chunks(self, reader: Reader | list[Any] | tuple[Any, ...]) -> Self:
        """Train on rows that come in chunks, more of them than memory holds.

        A uniform sample of the rows (a million at most, and 256 MiB; less for the methods that choose among all pairs
        of rows) chooses the vectors as `fit` does; then passes over all rows solve for the coefficients. If all rows
        are in the sample, the model is that of `fit`.

        Parameters
        ----------
        reader : callable or list
            Called without arguments once for each pass; returns an iterator of chunks, each ``(X, y)`` or
            ``(X, y, sample_weight)``, the same ones every time. Or a list of such chunks.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from slimsvm import FixedSizeLSSVC
        >>> def reader():
        ...     for seed in range(5):
        ...         X = np.random.default_rng(seed).standard_normal((200, 2))
        ...         yield X, X[:, 0] * X[:, 1] > 0
        >>> model = FixedSizeLSSVC(n_vectors=20, random_state=0).fit_chunks(reader)
        >>> model.n_vectors_
        20
        """
        if isinstance(reader, list | tuple):
            reader = partial(iter, reader)
        elif not callable(reader):
            raise TypeError(
                "reader must be a function that returns a fresh iterator of chunks (X, y) each time it is called, got "
                f"{type(reader).__name__}; an iterator can be gone through only once, and a fit takes several passes."
            )
        return self._fit_passes(
            LocalPasses(reader, classify=is_classifier(self), n_threads=n_threads(self.n_jobs))
        )

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        n = X.shape[0] if hasattr(X, "shape") and len(X.shape) == 2 else 0
        if n <= SAMPLE_ROWS or self._is_precomputed:
            return super()._fit(X, y, sample_weight)
        if not isinstance(X, np.ndarray) and not sparse.issparse(X):
            X = self._checked(X, "no_validation")
        names = getattr(self, "feature_names_in_", None)
        if sparse.issparse(X):
            X = sound(X).tocsr()
        weight = None if sample_weight is None else np.asarray(sample_weight)
        reader = ArrayReader(X, np.asarray(y), weight)
        self._fit_passes(LocalPasses(reader, classify=is_classifier(self), n_threads=n_threads(self.n_jobs)))
        if names is not None:
            self.feature_names_in_ = names
        return self

    def _fit_passes(self, passes: Passes) -> Self:
        """Become what is trained on the rows that these passes go through."""
        if self._is_precomputed:
            raise ValueError(
                "kernel='precomputed' has a column for each row, which chunks of rows do not have; "
                "use a kernel that is computed."
            )
        classify = is_classifier(self)
        with self._fitting(None, None, None) as progress:
            found = survey(passes, self._sample_size, classify=classify)
            sample = found.standing_for_all() if self._sample_stands_for_all else found.sample
            data, run = self._prepared(sample.X, sample.y, sample.weight, progress)
            rows = "all of them" if found.is_whole else count(data.n, "distinct row")
            run.say(
                f"{count(found.n_rows, 'row')} of {count(found.n_features, 'feature')}; trained on {rows}"
            )
            kernel = self._usable_kernel(data)
            if found.is_whole:
                trained = self._train(data, kernel, run)
            else:
                every = AllRows(passes, self._targets_for(found, run))
                trained = self._train_on_all(data, kernel, run, every)
            if trained.support is not None:
                trained = replace(trained, support=sample.numbers[trained.support])
            self._end(trained, run)
            if found.columns is not None:
                self.feature_names_in_ = np.array(found.columns, dtype=object)
        return self

    def _targets_for(self, found: Survey, run: Run) -> Targets:
        if not is_classifier(self):
            return Targets()
        codes = np.arange(len(found.labels))
        factors = class_weights(self.class_weight, found.labels, codes, found.totals)
        return Targets(run.known, found.labels, factors)
