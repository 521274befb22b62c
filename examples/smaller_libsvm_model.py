"""Make a model file of LIBSVM smaller
===================================

Read it, make it smaller, and write it for LIBSVM again, and as a model file in eight bits. The first file would come
from ``svm-train``, from R's e1071, or from a cluster; here an SVC stands in for them.
"""

import tempfile
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from slimsvm import from_libsvm, inspect, load, reduce, save, to_libsvm


def main() -> None:
    """Print a line for each file of a model that tells even digits from odd ones."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X / 16, 1 - y % 2, test_size=0.5, random_state=0, stratify=y)
    with tempfile.TemporaryDirectory() as folder:
        large, small, eight_bits = (
            Path(folder) / name for name in ("large.model", "small.model", "small.slim")
        )
        to_libsvm(SVC(C=10).fit(X, y), large)
        model = from_libsvm(large, n_features=X.shape[1])
        slim = reduce(model, X, y, max_vectors=30)
        to_libsvm(slim, small)
        save(slim, eight_bits, number="int8")
        read = {large: model, small: from_libsvm(small, n_features=X.shape[1]), eight_bits: load(eight_bits)}
        for path, found in read.items():
            size, score = path.stat().st_size, found.score(X_test, y_test)
            print(f"{path.name:12} {size:9,} bytes  {found.n_vectors_:4d} vectors  {score:.1%} accuracy")
        print(str(inspect(eight_bits)).replace(folder, "..."))


if __name__ == "__main__":
    main()
