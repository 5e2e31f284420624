"""Residuals on which an ordinary regression returns chosen estimates with chosen errors.

Everything here is post-processing: of released values, of a released design and of fresh noise.
"""

from dprct.release.construction.construct import residuals
from dprct.release.construction.specification import Residuals, Specification

__all__ = ["Residuals", "Specification", "residuals"]
