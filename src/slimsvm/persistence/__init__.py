"""Model files: `save`, `load` and `inspect`.

container: bytes of a file <-> a description in JSON and named arrays. values: parameters and other plain values in it.
parts: inputs, expansion, readout. extras: what only some methods know. estimators: the fixed table of classes.
files: the three verbs. docs/files.md is the specification.
"""
