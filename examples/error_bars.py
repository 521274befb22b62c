"""Regression with error bars
==========================

``RVR`` keeps a handful of rows and knows how sure it is: ``predict(X, return_std=True)`` gives the deviation of each
answer, which grows in gaps between the data.
"""

# %%
# Noisy rows with a gap in the middle.

import matplotlib.pyplot as plt
import numpy as np

from slimsvm import RVR

rng = np.random.default_rng(0)
x = np.sort(np.concatenate([rng.uniform(-10, -1.5, 60), rng.uniform(3, 10, 50)]))
y = np.sinc(x / np.pi) + 0.08 * rng.standard_normal(len(x))
model = RVR(gamma=0.15).fit(x[:, None], y)
print(f"{model.n_vectors_} of {len(x)} rows are vectors")

# %%
# The band is two deviations wide on either side, noise included.

grid = np.linspace(-11, 11, 400)
mean, deviation = model.predict(grid[:, None], return_std=True)
figure, axes = plt.subplots(figsize=(7.0, 3.6))
axes.fill_between(grid, mean - 2 * deviation, mean + 2 * deviation, color="#dbe9f3", label="two deviations")
axes.plot(grid, np.sinc(grid / np.pi), color="#57606a", linestyle="--", linewidth=1, label="truth")
axes.plot(grid, mean, color="#2f6f9f", label="RVR")
axes.scatter(x, y, s=8, color="#22272e", label="rows")
axes.scatter(
    x[model.support_],
    y[model.support_],
    s=60,
    facecolors="none",
    edgecolors="#d9822b",
    linewidths=1.6,
    label="vectors",
)
axes.legend(loc="upper right", fontsize=8)
figure.tight_layout()

# %%
# Of the rows, as many lie within the band as should.

mean, deviation = model.predict(x[:, None], return_std=True)
print(f"within two deviations: {np.mean(np.abs(y - mean) < 2 * deviation):.0%}")
