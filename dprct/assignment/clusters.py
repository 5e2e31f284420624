"""What is publicly known of the clusters of a design: their size, and how alike people are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any

from dprct.arguments import given
from dprct.errors import ParameterError
from dprct.privacy.budget import exact
from dprct.records import dataclass

Interval = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class ClusterFacts:
    """Public facts of the clusters of a design.

    Examples
    --------
    >>> ClusterFacts(icc=0.1).correlations(["y", "z"])["z"]
    Fraction(1, 10)
    >>> ClusterFacts(mean_bounds={"y": (0.2, 0.6)}).means(["y", "z"])
    {'y': (Fraction(1, 5), Fraction(3, 5))}
    """

    largest: int | None = None  # the most rows of a cluster
    # Upper bound on the correlation of two people of one cluster.
    icc: float | Mapping[str, float] | None = field(default=None, hash=False)
    # Between which the mean of every cluster lies.
    mean_bounds: Sequence[float] | Mapping[str, Sequence[float]] | None = field(
        default=None, hash=False
    )

    def __post_init__(self) -> None:
        _check_largest(self.largest)
        for name, value in (("icc", self.icc), ("mean_bounds", self.mean_bounds)):
            object.__setattr__(self, name, own(value))
        icc, means = _each(self.icc), _each(self.mean_bounds)
        for name, value in icc.items():
            _correlation(value, name)
        for name, value in means.items():
            _interval(value, name)
        both = [name for name in icc if name in means or "" in (name, *means)] if means else []
        if both:
            raise ParameterError(
                f"{_of(both[0])}``icc=`` and ``cluster_mean_bounds=`` are both declared; its "
                "variance is found from one of them, so leave the other out"
            )

    def correlations(self, outcomes: Sequence[str]) -> dict[str, Fraction]:
        """Correlation of people of one cluster, by outcome."""
        found = _of_outcomes(_each(self.icc), outcomes)
        return {name: _correlation(value, name) for name, value in found.items()}

    def means(self, outcomes: Sequence[str]) -> dict[str, Interval]:
        """Bounds on the means of clusters, by outcome."""
        each = _each(self.mean_bounds)
        if "" in each and len(outcomes) > 1:
            raise ParameterError(
                "there are several outcomes; give ``cluster_mean_bounds=`` of the design as a "
                "``mapping`` from outcome to ``(low, high)``"
            )
        return {n: _interval(pair, n) for n, pair in _of_outcomes(each, outcomes).items()}

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The outcomes that facts are declared of by name."""
        named = (*_each(self.icc), *_each(self.mean_bounds))
        return tuple(dict.fromkeys(name for name in named if name))


def together(facts: Sequence[ClusterFacts]) -> ClusterFacts:
    """Facts of the clusters that several factors assign."""
    known = list({repr(one): one for one in facts if one != ClusterFacts()}.values())
    if len(known) > 1:
        raise ParameterError(
            "the factors declare different facts of the clusters; declare ``largest=``, ``icc=`` "
            "and ``cluster_mean_bounds=`` once, or alike"
        )
    return known[0] if known else ClusterFacts()


def _check_largest(largest: object) -> None:
    if largest is not None and (type(largest) is not int or largest < 1):
        raise ParameterError(
            f"``largest={given(largest)}``; give the most rows that a cluster can have, as a whole "
            "number"
        )


def own(value: Any) -> Any:
    """Return a copy that the caller cannot change.

    Examples
    --------
    >>> own({"north": [0.2, 0.3]}), own(0.5)
    ({'north': (0.2, 0.3)}, 0.5)
    """
    if isinstance(value, Mapping):
        return {name: own(one) for name, one in value.items()}
    return tuple(value) if hasattr(value, "__iter__") and not isinstance(value, str) else value


def _each(value: Any) -> dict[str, Any]:
    """Facts by outcome; those of every outcome by the empty name."""
    if value is None:
        return {}
    return dict(value) if isinstance(value, Mapping) else {"": value}


def _of_outcomes(each: Mapping[str, Any], outcomes: Sequence[str]) -> dict[str, Any]:
    if "" in each:
        return dict.fromkeys(outcomes, each[""])
    return {name: each[name] for name in outcomes if name in each}


def _of(name: str) -> str:
    return f"of {name!r} " if name else ""


def _correlation(value: Any, name: str) -> Fraction:
    found = exact(value, f"icc {_of(name)}".rstrip())
    if not 0 <= found <= 1:
        raise ParameterError(
            f"icc {_of(name)}is {float(found):g}; declare an upper bound from 0 to 1 on the "
            "correlation of two people of one cluster, from public knowledge"
        )
    return found


def _interval(pair: Any, name: str) -> Interval:
    what = f"cluster_mean_bounds {_of(name)}".rstrip()
    if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
        raise ParameterError(
            f"{what} is ``{given(pair)}``; give ``(low, high)``, between which the mean of every "
            "cluster lies, from public knowledge"
        )
    low, high = (exact(end, what) for end in pair)
    if low >= high:
        raise ParameterError(
            f"{what} is ({float(low):g}, {float(high):g}); the first number must be below the "
            "second"
        )
    return low, high
