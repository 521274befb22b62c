"""One reader under the fuzzer: `python fuzz_reader.py models [options of libFuzzer] [folder ...]`.

Atheris follows which branches of the package the inputs reach. What is raised here ends the run, and the input that did
it is written to a file.
"""

from __future__ import annotations

import hashlib
import inspect
import random
import sys
import tracemalloc
from pathlib import Path

import atheris

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import readers  # noqa: E402

import file_attacks as attacks  # noqa: E402


def follow(package: str) -> int:
    """Have the fuzzer follow all functions of a package that is loaded; how many they are."""
    seen: set[int] = set()

    def of(value: object) -> None:
        value = getattr(value, "fget", value) if isinstance(value, property) else value
        value = inspect.unwrap(getattr(value, "__func__", value))
        if (
            inspect.isfunction(value)
            and value.__module__.partition(".")[0] == package
            and id(value) not in seen
        ):
            seen.add(id(value))
            atheris.instrument_func(value)

    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != package:
            continue
        for value in list(vars(module).values()):
            of(value)
            if inspect.isclass(value) and value.__module__ == name:
                for member in list(vars(value).values()):
                    of(member)
    return len(seen)


def altered_model(data: bytes, size: int, seed: int) -> bytes:
    """Half of the time what libFuzzer does, otherwise a description, arrays or bytes altered as an attacker would."""
    rng = random.Random(seed)
    try:
        description, arrays = attacks.parts_of(data)
    except Exception:  # no model file any more
        return atheris.Mutate(data, len(data))
    act = rng.randrange(6)
    try:
        if act == 0:
            return attacks.file_of(attacks.changed_description(description, rng), arrays)[:size]
        if act == 1 and arrays:
            return attacks.file_of(description, attacks.changed_arrays(arrays, rng))[:size]
    except (TypeError, ValueError, OverflowError):  # what was altered cannot be written
        pass
    return attacks.changed_bytes(data, rng)[:size] if act == 2 else atheris.Mutate(data, len(data))


def main() -> None:
    """Fuzz the reader that the first argument names."""
    name = sys.argv.pop(1)
    print(f"{follow('slimsvm')} functions are followed", flush=True)
    prefix = next((word.partition("=")[2] for word in sys.argv if word.startswith("-artifact_prefix=")), "")

    def check(data: bytes) -> None:
        try:
            readers.CHECKS[name](data)
        except BaseException:
            Path(f"{prefix}broke-{hashlib.sha1(data).hexdigest()}").write_bytes(data)
            raise

    tracemalloc.start(1)  # once: each start and stop costs kilobytes
    mutator = {"custom_mutator": altered_model} if name == "models" else {}
    atheris.Setup(sys.argv, check, **mutator)
    atheris.Fuzz()


main()
