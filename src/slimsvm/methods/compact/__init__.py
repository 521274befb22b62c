"""What `CompactSVC` and `CompactSVR` do: choose width, regularisation and size, and train the model.

`observations` holds the rows and cuts them into folds, `ridge` finds a first width and penalty, `moved` and `selected`
train models of growing size (`machines` says what both offer), `trial` cross-validates them, `curve` says which size
is enough, `settings` and `search` choose (`state` is what they know so far), `calibration` turns outputs into
probabilities.
"""
