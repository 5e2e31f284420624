"""Publish an experiment without publishing its participants."""

__version__ = "0.1.0"

__all__ = ["__version__"]
