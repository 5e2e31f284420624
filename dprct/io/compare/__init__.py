"""In which facets two files differ, and which of the differences a certificate permits."""

from dprct.io.compare.comparison import Comparison, Difference
from dprct.io.compare.files import compare

__all__ = ["Comparison", "Difference", "compare"]
