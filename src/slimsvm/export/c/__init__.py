"""A model as one C99 header.

`header` puts it together; `finished` brings the numbers to their format; `inputs`, `floating` and `fixed` write what
becomes of a row up to the outputs of the expansion, the last in whole numbers, for which `whole` finds the room;
`answers` and `probabilities` write what the readout makes of the outputs, `selftest` rows with known outputs; `text`
has the words of C.
"""

from .header import CHeader, to_c

__all__ = ["CHeader", "to_c"]
