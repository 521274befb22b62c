"""How small can it be?
====================

``vector_path`` cross-validates a method at growing sizes and picks the smallest that the folds cannot tell from the
best; ``SizeScoreDisplay`` draws several of them beside the machine they are to replace.
"""

# %%
# One method as a table. The arrow shows the chosen size.

from sklearn.svm import SVC

from slimsvm import FixedSizeLSSVC, Reduced, SizeScoreDisplay, TwoStageLSSVC, vector_path
from slimsvm.datasets import make_banana

X, y = make_banana(400, random_state=0)
sizes = [2, 4, 8, 16, 32, 64]
path = vector_path(TwoStageLSSVC(gamma=0.5), X, y, sizes=sizes, random_state=0)
print(path)

# %%
# Three methods and the SVC as a picture.

methods = {
    "TwoStageLSSVC": path,
    "reduce(SVC)": vector_path(Reduced(SVC(C=10)), X, y, sizes=sizes, random_state=0),
    "FixedSizeLSSVC": vector_path(FixedSizeLSSVC(C=10), X, y, sizes=sizes, random_state=0),
}
display = SizeScoreDisplay.from_path(methods)
