"""Ten digits in two kilobytes of C
================================

From training to a program that answers: ``CompactSVC`` finds the best model of 8-bit numbers that fits, ``to_c`` writes
it as a header, and a program of a few lines reads images and prints their digits. Without a C compiler the program is
only shown.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from slimsvm import CompactSVC, to_c

BYTES = 2048
PROGRAM = """
#include <stdio.h>
#include "digits.h"

int main(void) {
    float x[DIGITS_N_FEATURES];
    int f = 0;
    while (scanf("%f", &x[f]) == 1) {
        if (++f == DIGITS_N_FEATURES) {
            printf("%d\\n", digits_predict(x));
            f = 0;
        }
    }
    return digits_selftest();
}
"""


def main() -> None:
    """Train, write, compile and run; print what came out."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    model = CompactSVC(max_bytes=BYTES, number="int8", random_state=0).fit(X, y)
    print(
        f"Python:    {model.score(X_test, y_test):.1%} of {len(y_test)} digits right, {model.n_vectors_} vectors"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        header = to_c(model, path / "digits.h", X=X, y=y, name="digits", number="int8")
        print(
            f"header:    {header.flash_bytes} bytes of constant data, {header.ram_bytes} bytes on the stack"
        )
        (path / "main.c").write_text(PROGRAM)
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            print(f"There is no C compiler here; this would be the program:\n{PROGRAM}")
            return
        command = [compiler, "-std=c99", "-O2", "-DDIGITS_SELFTEST", "main.c", "-o", "digits", "-lm"]
        subprocess.run(command, cwd=path, check=True)
        images = "\n".join(" ".join(f"{pixel:g}" for pixel in row) for row in X_test)
        done = subprocess.run([path / "digits"], input=images, capture_output=True, text=True, check=True)
    digits = [int(line) for line in done.stdout.split()]
    right = sum(digit == wanted for digit, wanted in zip(digits, y_test, strict=True))
    same = sum(digit == wanted for digit, wanted in zip(digits, model.predict(X_test), strict=True))
    print(
        f"C program: {right / len(y_test):.1%} right, the same answer as Python for {same} of {len(y_test)}"
    )


if __name__ == "__main__":
    main()
