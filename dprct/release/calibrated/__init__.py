"""Calibrated: a synthetic file on which the unchanged regression returns private effects."""

from dprct.release.calibrated.model import Calibrated

__all__ = ["Calibrated"]
