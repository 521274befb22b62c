"""Components, a discriminant and a regression on fewer vectors
============================================================

``reduce`` is not only for support vector machines. Kernel principal components, a kernel discriminant and kernel ridge
regression keep every training row. Here each is pruned to a quarter of them and to a twentieth, and what that costs is
measured on other rows.
"""

# sphinx_gallery_thumbnail_path = 'docs/pictures/vectors.png'

# %%
# Ten components of handwritten digits. What a smaller projection explains of the variance of the whole one is the share
# that is kept.

import numpy as np
from scipy.linalg import eigh
from sklearn.datasets import load_digits, make_friedman1
from sklearn.decomposition import KernelPCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestCentroid

from slimsvm import KernelExpansion, reduce
from slimsvm.kernels import RBF

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X / 16, y, train_size=600, random_state=0, stratify=y)


def smaller(model, X, y=None):
    """The model on a quarter and on a twentieth of the rows."""
    return [reduce(model, X, y, method="prune", max_vectors=len(X) // part) for part in (4, 20)]


def kept(whole, slim):
    """Share of the variance of the whole projection, on the test rows."""
    return r2_score(whole, slim, multioutput="variance_weighted")


components = KernelPCA(10, kernel="rbf", gamma=0.05).fit(X)
print(f"components: {len(X)} vectors")
for slim in smaller(components, X):
    share = kept(components.transform(X_test), slim.transform(X_test))
    print(f"  {slim.n_vectors_:3d} vectors, {share:.1%} of the variance kept")

# %%
# A kernel discriminant (Mika et al., 1999) solves the generalised eigenproblem of the scatter between the classes and
# within them, for directions in the span of the training rows. scikit-learn has none, but the result is an expansion
# with one output for each direction, and that is all ``reduce`` needs. A row gets the class whose centre is nearest.

kernel = RBF(0.05)
K = kernel(X, X)
mean = K.mean(axis=0)
class_means = np.array([K[y == c].mean(axis=0) for c in range(10)])[y]  # of each row's class
between = (class_means - mean).T @ (class_means - mean)
within = (K - class_means).T @ (K - class_means) + 1e-3 * np.trace(K) * np.eye(len(X))
directions = eigh(between, within, subset_by_index=(len(X) - 9, len(X) - 1))[1]
discriminant = KernelExpansion(kernel, X, directions, -mean @ directions)

centres = NearestCentroid().fit(discriminant(X), y)
print(f"discriminant: {len(X)} vectors, {centres.score(discriminant(X_test), y_test):.1%} accuracy")
for slim in smaller(discriminant, X):
    share = kept(discriminant(X_test), slim.transform(X_test))
    score = centres.score(slim.transform(X_test), y_test)
    print(f"  {slim.n_vectors_:3d} vectors, {score:.1%} accuracy, {share:.1%} of the variance kept")

# %%
# Kernel ridge regression, on a function of five of ten features.

X, t = make_friedman1(800, noise=1.0, random_state=0)
X, X_test, t, t_test = train_test_split(X, t, test_size=0.5, random_state=0)
ridge = KernelRidge(kernel="rbf", gamma=0.3, alpha=0.1).fit(X, t)
print(f"regression: {len(X)} vectors, R^2 {ridge.score(X_test, t_test):.3f}")
for slim in smaller(ridge, X, t):
    print(f"  {slim.n_vectors_:3d} vectors, R^2 {slim.score(X_test, t_test):.3f}")
