"""Publish an experiment without publishing its participants.

The classes and functions of this module state the guarantee that they give and keep it.  Methods
as their authors published them, some of which guarantee nothing, are in :mod:`dprct.published`;
tools for people who hold the confidential data are in :mod:`dprct.custodian`.  Names are loaded
when they are first used, so that ``import dprct`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Accountant": "dprct.privacy.accountant",
    "Block": "dprct.assignment",
    "BlockCluster": "dprct.assignment",
    "Budget": "dprct.privacy.budget",
    "Cluster": "dprct.assignment",
    "Column": "dprct.schema",
    "Complete": "dprct.assignment",
    "Custom": "dprct.assignment",
    "Factorial": "dprct.assignment",
    "Guarantee": "dprct.privacy.budget",
    "Moments": "dprct.estimate",
    "Regression": "dprct.estimate",
    "Release": "dprct.release",
    "Schema": "dprct.schema",
    "Simple": "dprct.assignment",
    "Table": "dprct.results.tables",
    "Unit": "dprct.schema",
    "balance_table": "dprct.results.balance",
    "compare": "dprct.io.compare",
    "etable": "dprct.results.etable",
    "itt_table": "dprct.results.itt",
    "iv": "dprct.results.iv",
    "logit": "dprct.results.binary",
    "ols": "dprct.results.ols",
    "poisson": "dprct.results.binary",
    "probit": "dprct.results.binary",
    "read": "dprct.io",
    "read_dta": "dprct.io.stata",
    "verify": "dprct.release.verify",
    "write_dta": "dprct.io.stata",
}

# methods, written by scripts/registry.py
_HOME |= {
    "CATE": "dprct.estimate",
    "Calibrated": "dprct.release",
    "IPW": "dprct.estimate",
    "MVHistogram": "dprct.release",
    "Marginals": "dprct.release",
    "PrivateATE": "dprct.estimate",
    "PrivateAdditive": "dprct.estimate",
    "PrivateMoments": "dprct.estimate",
    "SyntheticControl": "dprct.estimate",
}
# end of methods

_ROOMS = ("custodian", "published")
"""Subpackages that are also attributes, loaded at first use."""

__all__ = [*sorted(_HOME), "__version__"]

if TYPE_CHECKING:
    from dprct.assignment import (
        Block,
        BlockCluster,
        Cluster,
        Complete,
        Custom,
        Factorial,
        Simple,
    )
    from dprct.estimate import Moments, Regression
    from dprct.io import read
    from dprct.io.compare import compare
    from dprct.io.stata import read_dta, write_dta
    from dprct.privacy.accountant import Accountant
    from dprct.privacy.budget import Budget, Guarantee
    from dprct.release import Release
    from dprct.release.verify import verify
    from dprct.results.balance import balance_table
    from dprct.results.binary import logit, poisson, probit
    from dprct.results.etable import etable
    from dprct.results.itt import itt_table
    from dprct.results.iv import iv
    from dprct.results.ols import ols
    from dprct.results.tables import Table
    from dprct.schema import Column, Schema, Unit

    # isort: off
    # methods, written by scripts/registry.py
    from dprct.estimate import CATE
    from dprct.release import Calibrated
    from dprct.estimate import IPW
    from dprct.release import MVHistogram
    from dprct.release import Marginals
    from dprct.estimate import PrivateATE
    from dprct.estimate import PrivateAdditive
    from dprct.estimate import PrivateMoments
    from dprct.estimate import SyntheticControl
    # end of methods


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"dprct.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'dprct' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_ROOMS])
