"""What `CompactSVC` and `CompactSVR` do: choose width, regularisation and size, and train the model.

`observations` holds the rows and cuts them into folds, `ridge` finds a first width and penalty, `moved` and `selected`
train models of growing size (`machines` says what both offer), `trial` cross-validates them, `curve` says which size
is enough, `search` chooses, `calibration` turns outputs into probabilities.
"""

from .calibration import fit_temperature
from .machines import Machine, Setting
from .moved import MovedVectors
from .observations import Observations
from .search import Choice, Limits, choose
from .selected import RowModel, SelectedRows

__all__ = [
    "Choice",
    "Limits",
    "Machine",
    "MovedVectors",
    "Observations",
    "RowModel",
    "SelectedRows",
    "Setting",
    "choose",
    "fit_temperature",
]
