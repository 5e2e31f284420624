"""What additive models promise, and which public facts the promise rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dprct.errors import ParameterError
from dprct.estimate.additive.release import mechanism_of
from dprct.privacy.guarantee import Guarantee
from dprct.schema.facts import given

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.estimate.additive.terms import Terms
    from dprct.privacy.budget import Budget
    from dprct.queries import AdditiveLayout
    from dprct.schema.facts import Unit


def check_neighbors(neighbors: object) -> None:
    """Refuse a relation that additive models are not offered under."""
    if not isinstance(neighbors, str) or neighbors != "replace-one":
        raise ParameterError(
            f"neighbors={given(neighbors)}; allowed: 'replace-one' (the whole row is private)"
        )


def promise_of(
    budget: Budget,
    unit: Unit,
    n: int,
    terms: Terms,
    outcome: str,
    layouts: Sequence[AdditiveLayout],
    more: Sequence[str] = (),
) -> Guarantee:
    """Return the guarantee of releases from disjoint parts of the rows, each at ``budget``.

    Parameters
    ----------
    budget : Budget
    unit : Unit
    n : int
    terms : Terms
    outcome : str
    layouts : sequence of AdditiveLayout
        One per part.
    more : sequence of str
        Further public facts.

    Notes
    -----
    Parts are a random partition of fixed sizes that does not depend on any value, so that replacing
    one row changes one part (of rows that come in any order, as proved in
    :func:`dprct.estimate.cate.partition.partition`).  Releases of other parts are then the same, or
    functions of what that part released: the privacy of the whole is that of the worst part, in any
    measure (of the trade-off curves, the smallest).  All parts have the same mu, which depends on
    the budget alone.

    References
    ----------
    Dong, Roth and Su (2022), "Gaussian Differential Privacy", for trade-off curves.
    """
    facts = (
        f"the number of rows, n = {n}",
        unit.said,
        f"the declared bounds and levels of {', '.join(terms.names)}",
        f"the declared bounds of {outcome}",
        f"the clip R = {layouts[-1].clip:g}",
        *more,
    )
    costs = [mechanism_of(layout, budget).cost() for layout in layouts]
    return Guarantee(
        "gdp" if budget.delta else "pure",
        "replace-one",
        budget,
        unit=unit.name,
        public_facts=facts,
        not_covered=("participation of anybody",),
        parameter=max(cost.parameter for cost in costs if cost.parameter) if budget.delta else None,
    )
