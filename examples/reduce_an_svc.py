"""Make an SVC smaller
===================

A trained pipeline with an SVC, and what each loss of accuracy saves. The pipeline stays a pipeline; a reduction takes
fractions of a second, so trying several costs little.
"""

# sphinx_gallery_thumbnail_path = 'docs/pictures/reduction.png'

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from slimsvm import reduce


def main() -> None:
    """Print a line for the SVC and for each reduction."""
    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    svc = make_pipeline(StandardScaler(), SVC(C=10)).fit(X, y)
    print(f"SVC                {len(svc[-1].support_):3d} vectors  {svc.score(X_test, y_test):.1%} accuracy")
    pruned = reduce(svc, X, y, method="prune")
    print(
        f"method='prune'     {pruned[-1].n_vectors_:3d} vectors  {pruned.score(X_test, y_test):.1%} accuracy"
    )
    for max_loss in (0.005, 0.01, 0.05):
        slim = reduce(svc, X, y, max_loss=max_loss)
        print(
            f"max_loss={max_loss:<9} {slim[-1].n_vectors_:3d} vectors  {slim.score(X_test, y_test):.1%} accuracy"
        )


if __name__ == "__main__":
    main()
