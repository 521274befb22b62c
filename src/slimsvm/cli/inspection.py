"""`slimsvm inspect`: what a model file says of itself."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from ..adapters.libsvm import from_libsvm
from ..budget import stored_bytes
from ..persistence.inspection import inspect
from ..words import count, size_in_words
from .models import LIBSVM_STARTS, start_of
from .output import Output


def run(path: Path, say: Output) -> None:
    """Describe a file without loading its arrays; a LIBSVM file has no other way than to read it."""
    if start_of(path).startswith(LIBSVM_STARTS):
        model = from_libsvm(path)
        f = model.expansion_
        text = (
            f"LIBSVM model in {path}, {size_in_words(path.stat().st_size)}\n  {getattr(f.kernel, 'name', '')} "
            f"kernel, {count(f.n_vectors, 'vector')}, {count(f.n_features, 'feature')}, {count(f.n_outputs, 'output')}"
        )
        say.result({"path": str(path), "vectors": f.n_vectors, "bytes": stored_bytes(f)}, text)
        return
    found = inspect(path)
    say.result(asdict(found), str(found))
