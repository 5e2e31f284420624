"""The methods by their keys: the one registry.

A method is added by its class, whose specification says key, R name and page, and by a line here
(the papers' algorithms also by their names in :mod:`dprct.published`).  Everything that lists
methods reads this; a class is imported when it is asked for, because no command needs all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dprct.model import Model, Spec

if TYPE_CHECKING:
    from collections.abc import Iterator

AnyModel = Model[Any, Any, Any, Any]


class Methods(Mapping[str, type[AnyModel]]):
    """Classes of methods by a name, each imported when it is asked for."""

    def __init__(self, homes: Mapping[str, str]) -> None:
        self._homes = homes

    def __getitem__(self, key: str) -> type[AnyModel]:
        """Class of one method."""
        room, _, name = f"dprct.{self._homes[key]}".rpartition(".")
        found: type[AnyModel] = getattr(import_module(room), name)
        return found

    def __contains__(self, key: object) -> bool:
        return key in self._homes

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


_FILES = {
    "calibrated": "release.calibrated.model.Calibrated",
    "mv_histogram": "release.histogram.MVHistogram",
    "marginals": "release.histogram.Marginals",
}
_ESTIMATES = {
    "cate": "estimate.cate.model.CATE",
    "ipw": "estimate.ipw.model.IPW",
    "private_ate": "estimate.ate.model.PrivateATE",
    "private_additive": "estimate.additive.model.PrivateAdditive",
    "moments": "estimate.moments.model.PrivateMoments",
    "synthetic_control": "estimate.synthetic_control.model.SyntheticControl",
}
_UNPROMISED = {
    "published_gen_model": "published.GenModel",
    "published_hybrid": "published.Hybrid",
    "published_mv_histogram": "published.MVHistogram",
}
_PUBLISHED = {
    "published_cate": "published.CATE",
    "published_ipw": "published.IPW",
    **_UNPROMISED,
    "published_synthetic_control": "published.SyntheticControl",
}
_STRICT = {**_FILES, **_ESTIMATES}
_EVERY = {**_STRICT, **_PUBLISHED}

STRICT = Methods(_STRICT)
"""Methods that keep the guarantee they print."""

PUBLISHED = Methods(_PUBLISHED)
"""The papers' algorithms."""

EVERY = Methods(_EVERY)
"""All of them."""

ESTIMATES = Methods(_ESTIMATES)
"""Methods of a study file whose results are numbers."""

UNPROMISED = frozenset(_UNPROMISED)
"""Methods of a study file without a guarantee: the papers' algorithms that make a file."""

METHODS = Methods({**_FILES, **_UNPROMISED, **_ESTIMATES})
"""What ``[release] method`` of a study file may be."""

BY_NAME = Methods(
    {home.rpartition(".")[2] if key in _STRICT else home: home for key, home in _EVERY.items()}
)
"""All methods by the names of their classes below ``dprct``."""


def spec_class(model: type[AnyModel]) -> type[Spec[Any]]:
    """Specification of a method's class, which says its key."""
    return model.specification()


def makes_file(model: type[AnyModel]) -> bool:
    """Whether a method makes a protected file, and not numbers."""
    return spec_class(model).key in {**_FILES, **_UNPROMISED}


def r_name(model: type[AnyModel]) -> str:
    """Name of a method's function in R.

    Examples
    --------
    >>> r_name(STRICT["moments"]), r_name(STRICT["ipw"])
    ('private_moments', 'ipw')
    """
    spec = spec_class(model)
    return spec.r_name or spec.key


def python_name(model: type[AnyModel]) -> str:
    """Name of a method's class below ``dprct``.

    Examples
    --------
    >>> python_name(PUBLISHED["published_ipw"]), python_name(STRICT["ipw"])
    ('published.IPW', 'IPW')
    """
    key = spec_class(model).key
    return f"published.{model.__name__}" if key in PUBLISHED else model.__name__
