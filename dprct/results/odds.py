"""What a guarantee means, as odds, for somebody who has never heard of differential privacy."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

    from dprct.privacy.guarantee import Guarantee

_LARGEST = 700.0

_SUBJECT = {
    "replace-one": "the data of one {unit}",
    "replace-one-design-public": "the outcomes and covariates of one {unit}",
    "add-remove": "whether one {unit} is in the data at all",
}
_KNOWN = {
    "replace-one": "That the {unit} is in the data counts as known.",
    "replace-one-design-public": (
        "That the {unit} took part, in which arm and stratum, and whether a value is missing "
        "where that is declared, counts as known."
    ),
    "add-remove": (
        "Between any two sets of values that the {unit} may have, the factor is at most its square."
    ),
}


def odds_words(guarantee: Guarantee) -> tuple[str, ...]:
    """Return what a guarantee means, in plain sentences that claim no more than it does.

    Parameters
    ----------
    guarantee : Guarantee

    Returns
    -------
    tuple of str
        One or more paragraphs.

    Notes
    -----
    Let P_a be the law of the release when the unit's record is a and all others are fixed.  Pure
    epsilon is P_a(S) <= e^eps P_b(S) for all a, b, S (neighbours by the relation).  For somebody
    who knows the others and has any prior on the record, the odds of a statement F about it change
    by the factor P_F(S) / P_notF(S), where both are mixtures of the P_a, so the factor lies in
    [e^-eps, e^eps].  Somebody who does not know the others may learn about the unit *through
    them*, with or without its data; that is why the statement is made for one who knows them.

    With delta > 0 the mixtures satisfy P_F(S) <= e^eps P_notF(S) + delta.  On the set where the
    density ratio exceeds e^(2 eps) this gives P_F(S) (1 - e^-eps) <= delta; on the set where it
    is below e^(-2 eps), P_F(S) (e^(2 eps) - e^eps) <= delta.  So the odds change by more than
    e^(2 eps) with probability at most 2 delta / (1 - e^-eps) ([1]_, Lemma 3.3).

    References
    ----------
    .. [1] Kasiviswanathan, S. P. and Smith, A. (2014). "On the 'semantics' of differential
       privacy: a Bayesian formulation." Journal of Privacy and Confidentiality 6(1).

    Examples
    --------
    >>> from dprct.privacy.budget import Budget
    >>> from dprct.privacy.guarantee import Guarantee
    >>> print(odds_words(Guarantee.of(Budget(1), "replace-one", unit="person"))[0])
    Take somebody who already knows the data of everybody else. Whatever this release shows them,
    the odds that they give to any statement about the data of one person change by a factor of at
    most e^1 = 2.72, up or down, because that person's data were used: even odds (50 %) become at
    most 74 %.
    """
    if guarantee.measure == "none":
        return (
            "Nothing is promised. What the release shows may allow anybody to learn any value of "
            "any one person in the data, and no bound on that is known.",
        )
    assert guarantee.budget is not None
    assert guarantee.relation is not None
    unit = guarantee.unit
    subject = _SUBJECT[guarantee.relation].format(unit=unit)
    known = _KNOWN[guarantee.relation].format(unit=unit)
    epsilon, delta = guarantee.budget.epsilon, guarantee.budget.delta
    change = _change(epsilon, 1) if not delta else _change(epsilon, 2)
    first = (
        "Take somebody who already knows the data of everybody else. Whatever this release shows "
        f"them, the odds that they give to any statement about {subject} change by a factor of at "
        f"most {change[0]}, up or down, because that {unit}'s data were used: even odds (50 %) "
        f"become at most {change[1]}."
    )
    learnt = (
        f"What the others reveal about people in general, and so about the {unit}, is not hidden: "
        "that is what the data are for."
    )
    if not delta:
        return first, f"{known} {learnt}"
    return *_approximate(first, epsilon, delta, subject), f"{known} {learnt}"


def _approximate(first: str, epsilon: Fraction, delta: Fraction, subject: str) -> tuple[str, ...]:
    """Return the statement for delta > 0: with an exception, and as a test, which is exact."""
    exception = 2 * float(delta) / -math.expm1(-float(epsilon))
    right = min(1.0, _exp(epsilon) * 0.05 + float(delta))
    test = (
        f"Put as a test, for every two possibilities for {subject}: a test on this release that "
        "takes the second for the first in 5 % of cases recognises the first in at most "
        f"{_percent(right)} of cases (e^epsilon times 5 % plus delta)."
    )
    if exception >= 1:
        return (test,)
    rare = (
        "There is an exception, whose probability is at most 2 delta / (1 - e^-epsilon) = "
        f"{_up(exception)}: then the odds may change by more."
    )
    return f"{first} {rare}", test


def _change(epsilon: Fraction, times: int) -> tuple[str, str]:
    """Return e^(times eps) in words and what even odds become; both are rounded up."""
    factor = _exp(times * epsilon)
    power = f"e^{float(times * epsilon):g}"
    return f"{power} = {_up(factor)}", _percent(factor / (1 + factor))


def _exp(epsilon: Fraction) -> float:
    return math.exp(min(float(epsilon), _LARGEST))


def _up(number: float) -> str:
    """Return a positive number with three digits, rounded up.

    Examples
    --------
    >>> _up(2.71828), _up(8886110.5), _up(1.27e-6)
    ('2.72', '8,890,000', '1.27e-06')
    """
    exact = Decimal(number)
    step = Decimal(1).scaleb(exact.adjusted() - 2)
    risen = (exact / step).to_integral_value(ROUND_CEILING) * step
    return f"{float(risen):,.0f}" if 1000 <= risen < 10**12 else f"{float(risen):.3g}"


def _percent(share: float) -> str:
    if share > 0.999:
        return "100 % (in the first three digits)"
    return f"{math.ceil(share * 100)} %" if share <= 0.99 else f"{math.ceil(share * 1000) / 10} %"
