"""Pictures in the manner of scikit-learn's Display classes; matplotlib is imported when one is drawn."""

from .relevance import RelevanceDisplay as RelevanceDisplay
from .size_score import SizeScoreDisplay as SizeScoreDisplay
from .style import COLOURS as COLOURS
from .style import FAINT as FAINT
from .style import GREY as GREY
from .style import INK as INK
from .vectors import VectorsDisplay as VectorsDisplay
