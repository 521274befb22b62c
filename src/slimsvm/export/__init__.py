"""Models in the formats of others: they take a `Model` and know nothing of estimators."""
