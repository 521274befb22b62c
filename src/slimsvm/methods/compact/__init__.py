"""What `CompactSVC` and `CompactSVR` do: choose metric, regularisation and size, and train the model.

`observations` holds the rows and cuts them into folds, `ridge` finds a first width and penalty, `plan` says what will
be done, `trial` cross-validates models, `compare` says which is better, `search` chooses. Models are trained by `moved`
(vectors that move, with widths that `likelihood` may find first), `linear` (a projection) and `selected` (training
rows); `machines` says what the first and the last offer. `fitting` is one fit, `scoring` serves scikit-learn's scorers.
"""
