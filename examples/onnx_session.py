"""From training to an ONNX session
================================

A pipeline with an SVC, made smaller, runs where there is no Python. The scaler is part of the graph, so the session
takes the columns as they were measured.
"""

import argparse
from pathlib import Path

import numpy as np
import onnxruntime
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from slimsvm import reduce, to_onnx


def main() -> None:
    """Train, reduce, write a file for each number format, and ask it."""
    parser = argparse.ArgumentParser(description="From training to an ONNX session.")
    parser.add_argument("--folder", type=Path, default=Path("."), help="where to write the files")
    folder = parser.parse_args().folder
    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    pipe = make_pipeline(StandardScaler(), SVC(C=10)).fit(X, y)
    small = reduce(pipe, X, y)
    print(f"SVC with {len(pipe[-1].support_)} vectors: {pipe.score(X_test, y_test):.1%} accuracy")
    print(f"reduced to {small[-1].n_vectors_}: {small.score(X_test, y_test):.1%} accuracy")
    scores = small.decision_function(X_test)
    for number in ("float32", "float64"):
        path = folder / f"breast_cancer_{number}.onnx"
        to_onnx(small, path, number=number)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        label, found = session.run(["label", "scores"], {"X": X_test.astype(number)})
        print(
            f"{path.name}: {path.stat().st_size:,} bytes, {np.mean(label == y_test):.1%} accuracy, scores differ by "
            f"at most {np.abs(found - scores).max():.0e}"
        )


if __name__ == "__main__":
    main()
