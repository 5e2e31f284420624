"""Publish an experiment without publishing its participants.

The classes and functions of this module state the guarantee that they give and keep it.  Methods
as their authors published them, some of which guarantee nothing, are in :mod:`dprct.published`;
tools for people who hold the confidential data are in :mod:`dprct.custodian`.  Names are loaded
when they are first used, so that ``import dprct`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dprct.lazy import names_of

__version__ = "0.1.0"

_HOME = {
    "Accountant": "privacy.accountant",
    "Block": "assignment",
    "BlockCluster": "assignment",
    "Budget": "privacy.budget",
    "Cluster": "assignment",
    "Column": "schema",
    "Complete": "assignment",
    "Custom": "assignment",
    "Factorial": "assignment",
    "Guarantee": "privacy.budget",
    "Moments": "estimate.moments.results",
    "Regression": "estimate.moments.declared",
    "Release": "release.release",
    "Schema": "schema",
    "Simple": "assignment",
    "Table": "results.tables",
    "Unit": "schema",
    "balance_table": "results.balance",
    "compare": "io.compare",
    "etable": "results.etable",
    "itt_table": "results.itt",
    "iv": "results.iv",
    "logit": "results.binary",
    "ols": "results.ols",
    "poisson": "results.binary",
    "probit": "results.binary",
    "read": "io",
    "read_dta": "io.stata",
    "verify": "release.verify",
    "write_dta": "io.stata",
}

# methods, written by scripts/registry.py
_HOME |= {
    "CATE": "estimate.cate.model",
    "Calibrated": "release.calibrated.model",
    "IPW": "estimate.ipw.model",
    "MVHistogram": "release.histogram",
    "Marginals": "release.histogram",
    "PrivateATE": "estimate.ate.model",
    "PrivateAdditive": "estimate.additive.model",
    "PrivateMoments": "estimate.moments.model",
    "SyntheticControl": "estimate.synthetic_control.model",
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
    from dprct.estimate.moments.declared import Regression
    from dprct.estimate.moments.results import Moments
    from dprct.io import read
    from dprct.io.compare import compare
    from dprct.io.stata import read_dta, write_dta
    from dprct.privacy.accountant import Accountant
    from dprct.privacy.budget import Budget, Guarantee
    from dprct.release.release import Release
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
    from dprct.estimate.cate.model import CATE
    from dprct.release.calibrated.model import Calibrated
    from dprct.estimate.ipw.model import IPW
    from dprct.release.histogram import MVHistogram
    from dprct.release.histogram import Marginals
    from dprct.estimate.ate.model import PrivateATE
    from dprct.estimate.additive.model import PrivateAdditive
    from dprct.estimate.moments.model import PrivateMoments
    from dprct.estimate.synthetic_control.model import SyntheticControl
    # end of methods


_found = names_of(__name__, _HOME)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"dprct.{name}")
    return _found(name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_ROOMS])
