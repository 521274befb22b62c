"""Model files that were altered: how they are made, and what must hold for what comes out of them."""

from __future__ import annotations

import builtins
import copy
import importlib.util
import json
import math
import pickle
import random
import resource
import struct
import sys
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import deserialize
from safetensors.numpy import save as to_safetensors
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, OneClassSVM

import slimsvm
from slimsvm import KernelExpansion
from slimsvm.kernels import RBF
from slimsvm.persistence.container import DTYPES, FORMAT_VERSION, HASH, LENGTH_BYTES, MAX_HEADER, digest_of
from slimsvm.persistence.files import content_for
from slimsvm.readout import fits_outputs

# What a file of a few kilobytes may take.
MOST_SECONDS = 5.0
MOST_BYTES = 2**30


def samples() -> dict[str, Any]:
    """One small model for each part of the format."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pandas as pd

        frame = pd.DataFrame(
            {"size": X[:, 0], "kind": rng.choice(["a", "b"], 60), "door": rng.integers(2, 5, 60)}
        )
        columns = ColumnTransformer([("kind", OneHotEncoder(), ["kind", "door"])], remainder=StandardScaler())
        f = KernelExpansion(RBF(0.5), X[:9].astype(np.float32), rng.standard_normal((9, 3)), np.zeros(3))
        rows = sparse.csr_array(np.where(X[:9] > 0, X[:9], 0))
        csr = KernelExpansion(RBF((0.5, 0.1, 2.0)), rows, f.coef, f.intercept)
        compact = slimsvm.CompactSVC(max_vectors=4, metric="linear", rank=2, number="int8", random_state=0)
        return {
            "classes": slimsvm.EmpiricalSVC(max_vectors=6).fit(X, np.array(["no", "so", "yes"])[y]),
            "projection": compact.fit(X, y),
            "posterior": slimsvm.RVR(gamma=0.3).fit(X, X[:, 0]),
            "probability": slimsvm.RVC(gamma=0.3).fit(X, y > 0),
            "path": slimsvm.GreedyLSSVC(max_vectors=5, kernel="poly").fit(X.astype(np.float32), y),
            "density": slimsvm.SparseKernelDensity(bandwidth=0.7).fit(X),
            "selector": slimsvm.ZeroNormSelector(C=10.0).fit(X, y),
            "factor": slimsvm.EmpiricalFeatureMap(orthonormal=True, max_vectors=4).fit(X),
            "inputs": make_pipeline(columns, SVC()).fit(frame, y),
            "one class": slimsvm.reduce(OneClassSVM().fit(X), X, max_vectors=5),
            "four bits": f.take(range(7)),
            "csr": csr,
        }  # fmt: skip


def contents() -> dict[str, bytes]:
    """The files of these models."""
    number = {"four bits": "int4", "csr": "int4"}
    return {name: content_for(model, number.get(name)) for name, model in samples().items()}


def with_hash(content: bytes) -> bytes:
    """The file with the hash it should state, where it has a place for one."""
    end = LENGTH_BYTES + int.from_bytes(content[:LENGTH_BYTES], "little")
    found = HASH.search(content, LENGTH_BYTES, end) if end <= len(content) else None
    if found is None:
        return content
    return content[: found.start(1)] + digest_of(content, end).encode() + content[found.end(1) :]


def parts_of(content: bytes) -> tuple[Any, dict[str, np.ndarray]]:
    """Description and arrays of a file that is right."""
    size = int.from_bytes(content[:LENGTH_BYTES], "little")
    header = json.loads(content[LENGTH_BYTES : LENGTH_BYTES + size])
    arrays = {
        name: np.frombuffer(bytes(part["data"]), DTYPES[part["dtype"]]).reshape(part["shape"])
        for name, part in deserialize(content)
    }
    return json.loads(header["__metadata__"]["slimsvm"]), arrays


def file_of(description: Any, arrays: dict[str, np.ndarray]) -> bytes:
    """A file with whatever description and arrays, its hash right."""
    if isinstance(description, dict) and "sha256" in description:
        description = {**description, "sha256": "0" * 64}
    text = json.dumps(description, separators=(",", ":"))
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return with_hash(to_safetensors(plain, metadata={"slimsvm": text}))


STRANGE = [
    None, True, False, 0, 1, -1, 2, 3, 7, 255, 2**31, 2**53 + 1, 2**63, 2**64, 10**30, 0.5, -0.0, 1e-320, 1e308, -1e308,
    math.inf, math.nan, "", "x", "rbf", "int4", "float64", "object", "<U9999999", "|S1", "vectors", "coef",
    "precomputed", "__class__", "os.system", "../../etc/passwd", "\x00", "\ud800", "é" * 50, [], {}, [[]], [1, 2],
    [0.5] * 9,
    {"type": "array", "tensor": "coef"}, {"type": "float", "value": "nan"}, {"type": "object", "name": "os.system"},
    {"type": "tuple", "items": [1]}, {"type": "kernel", "name": "rbf", "gamma": 1.0}, {"type": "number", "value": 3},
    {"type": "dict", "items": [[[], 1]]}, {"type": "pickle", "value": "gASV"},
    {"type": "items", "dtype": "<i8", "shape": [2], "items": [1, 2]},
]  # fmt: skip


def places(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value in a description."""
    found = [here] if here else []
    if isinstance(value, dict):
        for key in value:
            found += places(value[key], (*here, key))
    elif isinstance(value, list):
        for i in range(len(value)):
            found += places(value[i], (*here, i))
    return found


def changed_description(description: Any, rng: random.Random) -> Any:
    """One entry replaced, left out, doubled, or put elsewhere."""
    description = copy.deepcopy(description)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if not (ways := places(description)):  # nothing is left
            break
        *before, last = rng.choice(ways)
        parent = description
        for key in before:
            parent = parent[key]
        act = rng.randrange(6)
        if act == 0:
            del parent[last]
        elif act == 1 and isinstance(parent, dict):
            parent[rng.choice(["more", "type", "tensor", "__reduce__", last + "_"])] = copy.deepcopy(
                rng.choice(STRANGE)
            )
        elif act == 2 and isinstance(parent, list):
            parent.insert(last, copy.deepcopy(parent[last]))
        elif act == 3:
            other = description
            for key in rng.choice(ways):
                other = other[key] if isinstance(other, dict | list) and _has(other, key) else other
            parent[last] = copy.deepcopy(other)
        elif act == 4 and isinstance(parent[last], int | float) and not isinstance(parent[last], bool):
            parent[last] = parent[last] + rng.choice([-1, 1, 1000, -0.5])
        else:
            parent[last] = copy.deepcopy(rng.choice(STRANGE))
    return description


def _has(value: Any, key: Any) -> bool:
    return key in value if isinstance(value, dict) else isinstance(key, int) and key < len(value)


def changed_arrays(arrays: dict[str, np.ndarray], rng: random.Random) -> dict[str, np.ndarray]:
    """One array with other values, another shape or type or name, left out, or one more."""
    arrays = {name: array.copy() for name, array in arrays.items()}
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    act = rng.randrange(8)
    if act == 0:
        del arrays[name]
    elif act == 1:
        arrays[f"{name}.more"] = array
    elif act == 2:
        arrays[name] = array[:-1] if array.ndim and len(array) else array.reshape(-1)
    elif act == 3:
        arrays[name] = array.reshape(-1) if array.ndim > 1 else array[None]
    elif act == 4:
        dtype = rng.choice(["<f2", "<f4", "<f8", "<i2", "<u4", "|i1", "|b1"])
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(dtype, casting="unsafe")
    elif act == 5:
        arrays[name] = np.zeros((0, *rng.choice([(2**40,), (2**31 - 1, 3), (3,)])), dtype=array.dtype)
    elif array.size:
        flat = array.reshape(-1)
        kind = array.dtype.kind
        values = (
            [math.nan, math.inf, -math.inf, 1e300, -1.0, 0.0, 1e-300] if kind == "f" else [0, 1, 127, 100]
        )
        with np.errstate(all="ignore"):
            flat[rng.randrange(flat.size)] = rng.choice(values)
    return arrays


def changed_bytes(content: bytes, rng: random.Random) -> bytes:
    """Some bytes altered, cut, put in or moved; more often in the header."""
    data = bytearray(content)
    header = LENGTH_BYTES + int.from_bytes(content[:LENGTH_BYTES], "little")
    for _ in range(rng.choice([1, 1, 2, 5])):
        i = rng.randrange(rng.choice([LENGTH_BYTES, header, header, len(data)])) % len(data)
        act = rng.randrange(7)
        if act == 0:
            data[i] ^= 1 << rng.randrange(8)
        elif act == 1:
            data[i] = rng.randrange(256)
        elif act == 2:
            del data[i : i + rng.choice([1, 8, 100])]
        elif act == 3:
            data[i:i] = rng.randbytes(rng.choice([1, 8, 100]))
        elif act == 4:
            data = data[: max(1, i)]
        elif act == 5:
            data[i : i + 1] = rng.choice([b"9", b"0", b"-", b'"', b"{", b"[", b"e", b"\\", b"NaN", b"1e999"])
        else:
            j = rng.randrange(len(data))
            data[i : i + 8], data[j : j + 8] = data[j : j + 8], data[i : i + 8]
        if not data:
            break
    return bytes(data)


class NotAllowed(BaseException):
    """What no loader catches."""


@contextmanager
def nothing_is_imported_or_unpickled():
    """Importing, unpickling and compiling raise; only lazy imports of what NumPy and SciPy have loaded do not."""
    real = builtins.__import__

    def no(*args, **_options):
        raise NotAllowed(*args[:1])

    def known_only(name, globals=None, locals=None, fromlist=(), level=0):
        package = (globals or {}).get("__package__") or ""
        whole = importlib.util.resolve_name("." * level + name, package) if level else name
        if whole not in sys.modules or not whole.startswith(("scipy", "numpy", "sklearn")):
            raise NotAllowed(whole)
        return real(name, globals, locals, fromlist, level)

    places = [(builtins, "__import__", known_only)]
    places += [(pickle, name, no) for name in ("load", "loads", "Unpickler")]
    places += [(builtins, name, no) for name in ("eval", "exec", "compile")]
    places += [(importlib, "import_module", no), (np, "load", no)]
    kept = [getattr(place, name) for place, name, _ in places]
    for place, name, instead in places:
        setattr(place, name, instead)
    try:
        yield
    finally:
        for (place, name, _), value in zip(places, kept, strict=True):
            setattr(place, name, value)


@contextmanager
def limited_memory():
    """More than `MOST_BYTES` of new memory is a MemoryError."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MOST_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def outcome(read: Any, content: Any) -> Any:
    """What reading gives: a model, or the error that says why not; nothing else, and soon."""
    start = time.perf_counter()
    try:
        with nothing_is_imported_or_unpickled():
            found = read(content)
    except slimsvm.ModelFormatError as error:
        found = error
    if isinstance(found, slimsvm.ModelFormatError):
        said = str(found)
        assert said.endswith(".")
        assert len(said) < 1000
        assert "\n" not in said
    assert time.perf_counter() - start < MOST_SECONDS
    return found


def check_consistent(model: Any) -> None:
    """A model whose numbers are finite, whose parts fit, and which answers every row, or says what is too large."""
    n = model.n_features_in_
    if hasattr(model, "expansion_"):
        f = model.expansion_
        values = f.vectors.data if sparse.issparse(f.vectors) else f.vectors
        assert all(np.isfinite(part).all() for part in (values, f.coef, f.intercept))
        assert f.coef.shape == (f.vectors.shape[0], f.n_outputs)
        assert fits_outputs(model.readout_, f.n_outputs)
        assert model.model_.inputs.n_features == n
        assert model.model_.inputs.n_numbers == f.n_features
    if n > 10_000:
        return
    rows = np.random.default_rng(0).standard_normal((4, n))
    inputs = getattr(model, "model", None)
    if inputs is not None and inputs.inputs.has_categories:
        rows = np.full((4, n), 1.0).astype(object)
        for source, values in inputs.inputs.allowed:
            rows[:, source] = values[0] if values else "none"
    names = getattr(model, "feature_names_in_", None)
    if names is not None and len(set(names)) == n:
        import pandas as pd

        rows = pd.DataFrame(dict(zip(names, np.asarray(rows).T, strict=True)))
    for method in ("predict", "decision_function", "predict_proba", "transform", "score_samples"):
        if not hasattr(model, method):
            continue
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                answer = getattr(model, method)(rows)
        except ValueError as error:
            if not any(word in str(error) for word in ("too large", "none of its categories", "not numbers")):
                raise
            continue
        assert len(answer) == 4
        answer = answer.toarray() if sparse.issparse(answer) else np.asarray(answer)
        if answer.dtype.kind == "f" and method != "score_samples":
            labels = hasattr(model, "classes_") and method == "predict"  # which may be infinity
            assert labels or np.isfinite(answer).all(), method


def bombs(files):
    """Files of a few bytes that ask for much, and what is said of them."""
    description, arrays = parts_of(files["four bits"])
    wide = {**description["expansion"], "shape": [0, 2**31 - 1], "number": "float32"}
    none = {"vectors": np.zeros((0, 2**31 - 1), np.float32), "coef": np.zeros((0, 3), np.float32)}
    texts, classes_arrays = parts_of(files["classes"])
    labels = {"type": "items", "dtype": "<U9999999", "shape": [3], "items": ["a", "b", "c"]}
    deep = "[" * 100_000
    yield "header of 2^63 bytes", struct.pack("<Q", 2**63) + b"{}", "is not a model file"
    yield (
        "header of 8 MB and more",
        struct.pack("<Q", MAX_HEADER + 1) + b"{" + bytes(MAX_HEADER + 1),
        "not a model file",
    )
    yield "header of zeros", struct.pack("<Q", 64) + bytes(64), "is not a model file"
    yield "brackets", struct.pack("<Q", len(deep) + 1) + b"{" + deep.encode(), "is not valid JSON"
    yield (
        "deep description",
        with_hash(to_safetensors({}, metadata={"slimsvm": deep})),
        "is not valid JSON",
    )
    yield (
        "long number",
        to_safetensors({}, metadata={"slimsvm": "[" + "9" * 10_000 + "]"}),
        "not valid JSON",
    )
    yield (
        "features without vectors",
        file_of(
            {**description, "expansion": wide, "inputs": {**description["inputs"], "n_features": 2**31 - 1}},
            {"intercept": np.zeros(3, np.float32), **none},
        ),
        "no shape of vectors",
    )
    yield (
        "texts of 10 million letters",
        file_of({**texts, "readout": {**texts["readout"], "classes": labels}}, classes_arrays),
        "the classes is too large",
    )
    many = {f"a{i}": np.zeros(0, np.uint8) for i in range(2000)}
    yield "many arrays", file_of(description, {**arrays, **many}), "2006 arrays, more than 1024"
    yield (
        "array that nothing uses",
        file_of(description, {**arrays, "more": np.zeros(3)}),
        "has the array 'more', which nothing uses",
    )
    newer = {**description, "format_version": FORMAT_VERSION + 1}
    yield (
        "newer",
        file_of(newer, arrays),
        (
            rf"has the format version {FORMAT_VERSION + 1}, this release reads versions up to {FORMAT_VERSION}; "
            "install a newer slimsvm"
        ),
    )
    yield "no version", file_of({**description, "format_version": 0}, arrays), "no format version"
    yield (
        "other estimator",
        file_of({**description, "estimator": "os.system"}, arrays),
        "'os.system', which is ",
    )
    yield (
        "foreign safetensors",
        to_safetensors({"weight": np.zeros(3)}),
        "not a model file of slimsvm",
    )
    yield (
        "pickle",
        b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x02id\x85R.",
        "is not a model file",
    )


def wrong(files):
    """Files of right form that say something wrong, and what is said of them."""
    description, arrays = parts_of(files["projection"])
    expansion, readout = description["expansion"], description["readout"]

    def with_expansion(**changes):
        return file_of({**description, "expansion": {**expansion, **changes}}, arrays)

    def with_array(name, array):
        return file_of(description, {**arrays, name: array})

    yield (
        "kernel by name",
        with_expansion(kernel={"type": "kernel", "name": "os.system"}),
        "'os.system', which is ",
    )
    yield (
        "negative width",
        with_expansion(kernel={**expansion["kernel"], "gamma": -1.0}),
        "gamma must be a positive",
    )
    yield "more outputs", with_expansion(n_outputs=4), "which does not fit"
    yield "other number", with_expansion(number="int16"), "not of 16 bits"
    yield "fewer vectors", with_expansion(shape=[2, 2]), "which does not fit"
    yield "no projection", with_expansion(n_features=None), "there is no array 'vectors.base'"
    yield "step of zero", with_array("coef.step", np.zeros(3, np.float32)), "a step that is not positive"
    yield "step of infinity", with_array("vectors.step", np.full(1, np.inf, np.float32)), "not finite"
    yield (
        "intercept that is not finite",
        with_array("intercept", np.full(3, np.nan, np.float32)),
        "not finite",
    )
    yield (
        "equal classes",
        file_of(
            {**description, "readout": {**readout, "classes": {**readout["classes"], "items": [1, 1, 2]}}},
            arrays,
        ),
        "all of them different",
    )
    yield (
        "parameter that is none",
        file_of({**description, "parameters": {**description["parameters"], "__class__": "x"}}, arrays),
        "has the entry '__class__', which is unknown",
    )
    yield (
        "extra that is none",
        file_of({**description, "extras": {**description["extras"], "predict": 1}}, arrays),
        "has the entry 'predict', which is unknown",
    )
    yield (
        "extra in the place of the model",
        file_of({**description, "extras": {**description["extras"], "expansion_": 1}}, arrays),
        "has the entry 'expansion_', which is unknown",
    )
    description, arrays = parts_of(files["csr"])
    yield (
        "columns that fall",
        file_of(description, {**arrays, "vectors.indices": arrays["vectors.indices"][::-1].copy()}),
        "columns of a CSR row do not rise",
    )
    yield (
        "rows that end elsewhere",
        file_of(description, {**arrays, "vectors.indptr": arrays["vectors.indptr"][::-1].copy()}),
        "begin or end where they cannot",
    )
    yield (
        "column that is none",
        file_of(description, {**arrays, "vectors.indices": arrays["vectors.indices"] + np.uint8(200)}),
        "begin or end where they cannot",
    )


def libsvm_bombs() -> dict[str, str]:
    """LIBSVM files that ask for much, or promise what they do not have."""
    head = "svm_type c_svc\nkernel_type rbf\ngamma 0.5\n"

    def text(n_classes="2", n="1", rho="0", label="1 2", n_each="1 0", vectors="1 1:1\n"):
        lines = f"nr_class {n_classes}\ntotal_sv {n}\nrho {rho}\nlabel {label}\nnr_sv {n_each}\nSV\n{vectors}"
        return head + lines

    return {
        "classes": text(n_classes="2000000000"),
        "vectors": text(n="2000000000"),
        "pairs": text(n_classes="10000", n="0", vectors=""),
        "cut-off": text(vectors="1 1:1"),
        "long-number": text(rho="9" * 100_000),
        "infinity": text(rho="1e999"),
        "negative-count": text(n_each="2 -1"),
        "equal-labels": text(label="1 1"),
        "feature-zero": text(vectors="1 0:1\n"),
        "feature-of-64-bits": text(vectors="1 99999999999999999999:1\n"),
        "features-that-fall": text(vectors="1 2:1 1:1\n"),
        "degree": text().replace("rbf", "polynomial\ncoef0 0\ndegree 2000000000"),
        "empty-lines": head + "\n" * 1_000_000,
    }
