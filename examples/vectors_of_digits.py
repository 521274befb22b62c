"""The vectors of a digit reader
=============================

``CompactSVC`` learns where its vectors lie. On images a vector is an image too: not a digit of the training
set, but what tells digits apart.
"""

# %%
# At most 20 vectors for ten classes, with one width for all pixels, so that vectors stay in the space of the images.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from slimsvm import CompactSVC

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
model = CompactSVC(max_vectors=20, metric="one", random_state=0).fit(X, y)
print(f"{model.n_vectors_} vectors, {model.score(X_test, y_test):.1%} of {len(y_test)} new digits right")

# %%
# Each vector as an image. The number above it is the class that it speaks for most.

speaks_for = model.classes_[np.argmax(model.dual_coef_, axis=0)]
order = np.argsort(speaks_for, kind="stable")
figure, panels = plt.subplots(2, 10, figsize=(9.0, 2.4))
for axes in panels.flat:
    axes.axis("off")
for axes, j in zip(panels.flat, order, strict=False):
    axes.imshow(model.support_vectors_[j].reshape(8, 8), cmap="gray_r")
    axes.set_title(str(speaks_for[j]), fontsize=10)
figure.tight_layout()

# %%
# An SVC with the same rows needs several hundred.

from sklearn.svm import SVC

svc = SVC().fit(X, y)
print(f"SVC: {len(svc.support_)} vectors, {svc.score(X_test, y_test):.1%} right")
