"""What `CompactSVC` and `CompactSVR` do: choose width, regularisation and size, and train the model.

`observations` holds the rows and cuts them into folds, `ridge` finds a first width and penalty, `machines` trains
models of growing size, `search` chooses among them, `calibration` turns outputs into probabilities.
"""

from .calibration import fit_temperature, probabilities
from .machines import Machine, MovedVectors, SelectedRows, Setting
from .observations import Observations
from .search import Choice, Limits, choose

__all__ = [
    "Choice",
    "Limits",
    "Machine",
    "MovedVectors",
    "Observations",
    "SelectedRows",
    "Setting",
    "choose",
    "fit_temperature",
    "probabilities",
]
