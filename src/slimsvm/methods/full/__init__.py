"""The ordinary support vector machine, on scikit-learn's solver: what the others are compared with."""
