"""Other base learners for the published CATE (Remark 3.6), and parts with budgets of their own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from dprct.arguments import checked, numbers_given
from dprct.errors import ParameterError
from dprct.privacy.budget import Budget
from dprct.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """What a base learner is told before it sees rows: public facts alone."""

    name: str
    budget: Budget  # what this part may spend
    # Of its features; one more than the model has, 0 to 1, where treatment is a feature.
    bounds: tuple[tuple[float, float], ...]
    target: tuple[float, float]  # range of what is to be predicted


@runtime_checkable
class BaseLearner(Protocol):
    """Anything with ``fit``, ``predict`` and the guarantee that one fit claims, in words."""

    guarantee: str

    def fit(self, X: Array, y: Array) -> Any:
        """Learn from rows (n, p) and targets (n,), both within their ranges."""

    def predict(self, X: Array) -> Any:
        """Return predictions (m,)."""


@dataclass(frozen=True, eq=False)
class Plugged:
    """A fitted base learner of somebody else's, at rows that are first moved into their bounds."""

    learner: BaseLearner
    bounds: tuple[tuple[float, float], ...]

    def at(self, X: Array) -> Array:
        """Return predictions (m,) at rows (m, p)."""
        return _numbers(self.learner.predict(_within(X, self.bounds)), len(X))


def checked_learner(made: object, name: str) -> BaseLearner:
    """Learner that a factory made, if it is a base learner."""
    if not isinstance(made, BaseLearner) or not isinstance(made.guarantee, str):
        raise ParameterError(
            f"``base=`` made a ``{type(made).__name__}`` for {name!r}; return an object with "
            "fit(X, y), predict(X) and guarantee, what one fit claims, as text"
        )
    return made


def plugged(learner: BaseLearner, part: Part, X: Array, y: Array) -> Plugged:
    """Fit a base learner to rows and targets that are first moved into their public ranges."""
    learner.fit(_within(X, part.bounds), np.clip(y, *part.target))
    return Plugged(learner, part.bounds)


def _within(X: Array, bounds: Sequence[tuple[float, float]]) -> Array:
    low, high = np.array(bounds).T
    return np.clip(X, low, high)


def _numbers(found: object, rows: int) -> Array:
    predicted = np.asarray(found, np.float64)
    if predicted.shape != (rows,):
        raise ParameterError(
            "a base learner predicted another number of values than there are rows; return one "
            "number per row"
        )
    return predicted


def budgets_of(asked: Mapping[str, Any] | None, parts: Sequence[str]) -> dict[str, Budget]:
    """Budgets, each (epsilon, delta), of the parts that have one of their own.

    Examples
    --------
    >>> str(budgets_of({"effect": (1, 1e-5)}, ["effect"])["effect"])
    'epsilon=1, delta=1e-05'
    """
    found = {}
    for name, pair in (asked or {}).items():
        if name not in parts:
            raise ParameterError(
                f"``part_budgets=`` names {name!r}, which is not a part; there are "
                f"{', '.join(parts)}"
            )
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise ParameterError(
                f"``part_budgets=`` of {name!r} is not a pair; give (epsilon, delta)"
            )
        found[name] = Budget.asked(*pair)
    return found


def check_within(own: Mapping[str, Budget], budget: Budget) -> None:
    """Refuse a part that would spend more than the whole fit names."""
    for name, one in own.items():
        if one.epsilon > budget.epsilon or one.delta > budget.delta:
            raise ParameterError(
                f"part {name!r} has {one}, above the {budget} of the fit, which is the largest of "
                "all parts; fit with more, or give this part less"
            )


@checked
def parallel_delta(budgets: Sequence[Budget], epsilon: float) -> float:
    """Return the delta at an epsilon of an algorithm whose disjoint parts have these budgets.

    Parameters
    ----------
    budgets : sequence of Budget
    epsilon : float

    Notes
    -----
    Theorem 3.3: the algorithm is f-DP with f the double conjugate of the smallest of the parts'
    trade-off functions.  It is (epsilon, delta)-DP where f is above the convex function of these
    two, which is where the smallest is, and so every one of them: delta is the largest of those
    that the parts have at this epsilon.  One that is (e, d)-DP has d from e on, and below it
    ``d + (1 - d) (exp(e) - exp(epsilon)) / (1 + exp(e))``, that of randomised response.

    References
    ----------
    Niu et al. (2022), Theorem 3.3 and Remark 3.4.
    Dong, Roth and Su (2022), "Gaussian differential privacy", Propositions 5 and 6.

    Examples
    --------
    >>> parallel_delta([Budget(1, 1e-5), Budget(2, 1e-6)], 2)
    1e-05
    """
    if not budgets:
        raise ParameterError("there is no part; give the budget of each")
    if not math.isfinite(epsilon):
        raise ParameterError(f"``epsilon={epsilon}``; give a finite number")
    return max(_delta_at(one, epsilon) for one in budgets)


def _delta_at(budget: Budget, epsilon: float) -> float:
    own, delta = float(budget.epsilon), float(budget.delta)
    if Fraction(epsilon) >= budget.epsilon:
        return delta
    # divided by exp(own), which may overflow
    gap = -math.expm1(epsilon - own) / (1 + math.exp(-own))
    return delta + (1 - delta) * gap


@checked
def parallel_tradeoff(budgets: Sequence[Budget], alpha: Array) -> Array:
    """Return the type II error (m,) that tests of size alpha (m,) have at least (Theorem 3.3).

    Parameters
    ----------
    budgets : sequence of Budget
        Of the disjoint parts.
    alpha : (m,) array
        Between 0 and 1.

    Notes
    -----
    The double conjugate of the smallest trade-off function is its lower convex envelope: that of
    the vertices of all of them, for each is piecewise linear and convex.

    Examples
    --------
    >>> parallel_tradeoff([Budget(1), Budget(0.5)], np.array([0.0, 1.0])).tolist()
    [1.0, 0.0]
    """
    if not budgets:
        raise ParameterError("there is no part; give the budget of each")
    points = sorted({point for one in budgets for point in _vertices(one)})
    hull: list[tuple[float, float]] = []
    for point in points:
        while len(hull) > 1 and _above(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    x, y = np.array(hull).T
    return np.asarray(np.interp(numbers_given(alpha, "alpha"), x, y))


def _vertices(budget: Budget) -> list[tuple[float, float]]:
    """Vertices of ``max(0, 1 - d - e^eps a, e^-eps (1 - d - a))``."""
    delta, small = float(budget.delta), math.exp(-float(budget.epsilon))
    middle = (1 - delta) * small / (1 + small)
    return [(0.0, 1 - delta), (middle, middle), (1 - delta, 0.0), (1.0, 0.0)]


def _above(
    first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]
) -> bool:
    """Whether the middle one of three points is on or above the line through the others."""
    (a, b), (c, d), (e, f) = first, middle, last
    return (c - a) * (f - b) - (d - b) * (e - a) <= 0
