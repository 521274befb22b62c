"""The best classifier for so many bytes
=====================================

Three kinds of waves, 21 measurements each, in float32. ``max_bytes`` is a limit on the numbers the model consists of;
``stored_bytes`` counts them.
"""

# sphinx_gallery_thumbnail_path = 'docs/pictures/few-bytes.png'

from sklearn.svm import SVC

from slimsvm import CompactSVC
from slimsvm.budget import stored_bytes
from slimsvm.datasets import make_waveform

LIMITS = (320, 512, 4096)


def main() -> None:
    """Print a line for each limit, and one for an SVC."""
    X, y = make_waveform(300, n_classes=3, random_state=0)
    X_test, y_test = make_waveform(5000, n_classes=3, random_state=1)
    X, X_test = X.astype("float32"), X_test.astype("float32")
    for limit in LIMITS:
        model = CompactSVC(max_bytes=limit, random_state=0).fit(X, y)
        size = stored_bytes(model.expansion_)
        print(
            f"at most {limit:4d} bytes: {model.n_vectors_:3d} vectors, {size:6,d} bytes, "
            f"{model.score(X_test, y_test):.1%} accuracy"
        )
    svc = SVC().fit(X, y)
    size = 4 * (svc.support_vectors_.size + svc.dual_coef_.size + svc.intercept_.size)
    score = svc.score(X_test, y_test)
    print(f"SVC:                {len(svc.support_):3d} vectors, {size:6,d} bytes, {score:.1%} accuracy")


if __name__ == "__main__":
    main()
