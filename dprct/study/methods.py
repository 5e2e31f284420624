"""The methods by their keys, as the classes themselves state them: the one registry.

A method is added by its class, whose specification says key, R name and page, and by its name in
the ``__init__`` of its room.  Everything that lists methods reads this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dprct import estimate, published, release
from dprct.model import Model, Spec
from dprct.release.release import ReleaseModel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import ModuleType

AnyModel = Model[Any, Any, Any, Any]


def models_of(room: ModuleType) -> Iterator[type[AnyModel]]:
    """Classes of methods among the public names of a room.

    Examples
    --------
    >>> [model.__name__ for model in models_of(release)]
    ['Calibrated', 'MVHistogram', 'Marginals']
    """
    for name in room.__all__:
        one = getattr(room, name)
        if isinstance(one, type) and issubclass(one, Model):
            yield one


def spec_class(model: type[AnyModel]) -> type[Spec[Any]]:
    """Specification of a method's class, which says its key."""
    return model.specification()


def _by_key(*rooms: ModuleType) -> Mapping[str, type[AnyModel]]:
    return {spec_class(model).key: model for room in rooms for model in models_of(room)}


STRICT = _by_key(release, estimate)
"""Methods that keep the guarantee they print."""

PUBLISHED = _by_key(published)
"""The papers' algorithms."""

EVERY: Mapping[str, type[AnyModel]] = {**STRICT, **PUBLISHED}
"""All of them."""


def makes_file(model: type[AnyModel]) -> bool:
    """Whether a method makes a protected file, and not numbers."""
    return issubclass(model, ReleaseModel)


ESTIMATES = {key: model for key, model in STRICT.items() if not makes_file(model)}
"""Methods of a study file whose results are numbers."""

UNPROMISED = frozenset(key for key, model in PUBLISHED.items() if makes_file(model))
"""Methods of a study file without a guarantee: the papers' algorithms that make a file."""

METHODS = {
    **{key: model for key, model in EVERY.items() if makes_file(model)},
    **ESTIMATES,
}
"""What ``[release] method`` of a study file may be."""


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


BY_NAME: Mapping[str, type[AnyModel]] = {python_name(model): model for model in EVERY.values()}
"""All methods by the names of their classes."""
