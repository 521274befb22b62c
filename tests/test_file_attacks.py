"""Model files that were altered, by accident or on purpose: an error of one sentence, or a model that is one."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import file_attacks as attacks
import slimsvm
from everyone import answers, same_bits
from fuzz import readers
from profiles import HARD
from slimsvm import ModelFormatError
from slimsvm.persistence.container import FORMAT_VERSION
from slimsvm.persistence.files import content_for, estimator_from

HERE = Path(__file__).parent
# Mutations of each kind; with SLIMSVM_HARD=1 more than 10,000 in all.
N = 12_000 if HARD else 400
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="memory is limited by Linux's means"
)


def read(content):
    return estimator_from(content, "the file")


@pytest.fixture(scope="module")
def files():
    found = attacks.contents()
    for content in found.values():
        attacks.check_consistent(attacks.outcome(read, content))
    return found


def each(files, n, seed):
    """A seeded generator and a file for each of n turns."""
    names = sorted(files)
    for i in range(n):
        rng = random.Random(f"{seed} {i}")
        name = names[i % len(names)]
        yield rng, name, files[name]


def test_altered_bytes_are_found_by_the_hash(files):
    with attacks.limited_memory():
        for rng, name, content in each(files, N, "bytes"):
            altered = attacks.changed_bytes(content, rng)
            found = attacks.outcome(read, altered)
            if not isinstance(found, ModelFormatError):
                assert altered == content, name


def test_an_altered_description_is_found_by_the_hash(files):
    for rng, _, content in each(files, N // 4, "json, hash as it was"):
        description, arrays = attacks.parts_of(content)
        altered = attacks.file_of(attacks.changed_description(description, rng), arrays)
        stated = attacks.HASH.search(content)[1]
        found = attacks.HASH.search(altered)
        if found is None or found[1] == stated:
            continue
        altered = altered[: found.start(1)] + stated + altered[found.end(1) :]
        assert isinstance(attacks.outcome(read, altered), ModelFormatError)


def survivors(files, n, seed, alter):
    """Alter with the hash right again; how many are models still, each of which must be one."""
    n_models = 0
    with attacks.limited_memory():
        for rng, name, content in each(files, n, seed):
            found = attacks.outcome(read, attacks.with_hash(alter(content, rng)))
            if not isinstance(found, ModelFormatError):
                n_models += 1
                try:
                    attacks.check_consistent(found)
                except BaseException as error:
                    raise AssertionError(f"{name}: {seed}: {error!r}") from error
    return n_models


def test_altered_bytes_with_a_right_hash_are_an_error_or_a_model(files):
    assert survivors(files, N, "bytes, hash right", attacks.changed_bytes) > N / 100


def test_an_altered_description_with_a_right_hash_is_an_error_or_a_model(files):
    def alter(content, rng):
        description, arrays = attacks.parts_of(content)
        return attacks.file_of(attacks.changed_description(description, rng), arrays)

    assert survivors(files, N, "json", alter) > N / 100


def test_altered_arrays_with_a_right_hash_are_an_error_or_a_model(files):
    def alter(content, rng):
        description, arrays = attacks.parts_of(content)
        return attacks.file_of(description, attacks.changed_arrays(arrays, rng))

    assert survivors(files, N // 2, "arrays", alter) > N / 200


def test_inspecting_an_altered_file_is_an_error_or_a_description(files, tmp_path):
    path, n_described = tmp_path / "altered.slim", 0
    for rng, _, content in each(files, N // 2, "inspect"):
        description, arrays = attacks.parts_of(content)
        if rng.random() < 0.5:
            altered = attacks.changed_bytes(content, rng)
        else:
            altered = attacks.file_of(attacks.changed_description(description, rng), arrays)
        path.write_bytes(altered)
        found = attacks.outcome(slimsvm.inspect, path)
        if isinstance(found, slimsvm.ModelFile):
            n_described += 1
            assert len(str(found)) > 100
    assert n_described > N / 20


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 10, 100, 500, -1])
def test_files_that_are_cut_off_are_refused(files, size, tmp_path):
    content = files["classes"][:size]
    (tmp_path / "cut.slim").write_bytes(content)
    for verb in (slimsvm.load, slimsvm.inspect):
        with pytest.raises(ModelFormatError, match=r"is not a model file of slimsvm|cut off"):
            verb(tmp_path / "cut.slim")


# Bombs, newer versions, foreign files


def test_bombs_newer_versions_and_foreign_files_are_refused_in_one_sentence(files):
    with attacks.limited_memory():
        for name, content, said in [*attacks.bombs(files), *attacks.wrong(files)]:
            found = attacks.outcome(read, content)
            assert isinstance(found, ModelFormatError), name
            with pytest.raises(ModelFormatError, match=said):
                read(content)


def test_files_that_are_too_large_are_not_read(files, tmp_path):
    path = tmp_path / "large.slim"
    path.write_bytes(files["classes"])
    with pytest.raises(
        ModelFormatError, match="more than the 100 that are allowed; give load a larger max_bytes"
    ):
        slimsvm.load(path, max_bytes=100)
    with path.open("wb") as file:
        file.truncate(2**40)  # a terabyte of nothing
    with attacks.limited_memory(), pytest.raises(ModelFormatError, match="1099511627776 bytes, more than"):
        slimsvm.load(path)
    with attacks.limited_memory(), pytest.raises(ModelFormatError, match="not a model file"):
        slimsvm.inspect(path)


def test_shapes_that_do_not_fit_are_refused(files):
    description, arrays = attacks.parts_of(files["posterior"])
    m = arrays["vectors"].shape[0]
    infinite = np.full((1, m + 1, m + 1), np.inf)
    for name, array in (
        ("vectors", np.zeros((m, 4))), ("vectors", np.zeros((m + 1, 3))), ("coef", np.zeros((m, 2))),
        ("intercept", np.zeros(2)), ("intercept", np.zeros((1, 1))), ("coef", np.zeros((m, 1), np.float32)),
        ("extras.covariance_", np.zeros((1, m, m))), ("extras.noise_", np.zeros(2)), ("extras.support_", np.zeros(m)),
        ("extras.support_", np.arange(m + 1)), ("extras.precision_", np.zeros((2, m))),
        ("vectors", arrays["vectors"] * np.nan),
        ("extras.covariance_", infinite), ("extras.support_", np.arange(m) - 1),
    ):  # fmt: skip
        assert name in arrays
        with pytest.raises(ModelFormatError):
            read(attacks.file_of(description, {**arrays, name: array}))


# Files that are kept


@pytest.mark.parametrize("version", range(1, FORMAT_VERSION + 1))
def test_golden_files_of_every_format_version_answer_as_they_did(version):
    folder = HERE / "golden" / f"format-{version}"
    paths = sorted(folder.glob("*.slim"))
    assert len(paths) >= 5
    for path in paths:
        model = slimsvm.load(path)
        stored = np.load(path.with_suffix(".npz"))
        rows = stored["rows"]
        found = answers(model, rows)
        assert found.keys() == {key for key in stored.files if key != "rows"}
        for key, answer in found.items():
            if answer.dtype.kind == "f":  # the last digits depend on the processor's instructions
                np.testing.assert_allclose(answer, stored[key], rtol=1e-9, atol=1e-12)
            else:
                np.testing.assert_array_equal(answer, stored[key])
        assert slimsvm.inspect(path).format_version == version
        same_bits(answers(read(content_for(model)), rows), found)


def test_every_attack_that_was_kept_fails():
    paths = sorted((HERE / "attacks").glob("*.slim"))
    assert len(paths) >= 10
    for path in paths:
        assert path.stat().st_size < 10_000
        with attacks.limited_memory(), readers.bounded(path.read_bytes()):
            assert isinstance(attacks.outcome(slimsvm.load, path), ModelFormatError), path.name
