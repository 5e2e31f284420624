"""Several coefficients at once: linear combinations, Wald tests, and the law of the largest t."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.arguments import given
from dprct.errors import ParameterError
from dprct.lazy import special
from dprct.records import dataclass
from dprct.results.multiple_testing import step_down

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.floating[Any]]

_NUMBER = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_NAME_ENDS = re.compile(r"[\s+\-*/=`]")
_DRAWS = 2**15
_RANK = 1e-10


@dataclass(frozen=True)
class Restrictions:
    """Linear functions of coefficients, each with the value that is tested."""

    texts: tuple[str, ...]
    weights: Array  # (q, k)
    values: Array  # (q,)


@dataclass(frozen=True)
class WaldTest:
    """A joint test; prints as one sentence.

    Attributes
    ----------
    statistic : float
        Chi-square for infinite ``df_denom``, else F.
    df : float
        Independent restrictions; where part of the covariance is noise, as many as the law of the
        statistic has, and fewer.
    """

    statistic: float
    pvalue: float
    df: float
    df_denom: float
    hypothesis: str

    def __str__(self) -> str:
        law = (
            f"F({self.df:.3g}, {self.df_denom:g})"
            if math.isfinite(self.df_denom)
            else f"chi2({self.df:.3g})"
        )
        p = "p < 0.0001" if self.pvalue < 1e-4 else f"p = {self.pvalue:.4f}"
        return f"Test of {self.hypothesis}: {law} = {self.statistic:.3f}, {p}"


def restrictions(
    wanted: str | Mapping[str, float] | Sequence[str | Mapping[str, float]], names: Sequence[str]
) -> Restrictions:
    """Read ``"a - b"``, ``"a = b = 0"``, ``"2*a + b = 1"``, a mapping of weights, or several.

    Names with signs or spaces in them stand as they are, if it is clear, or in backquotes.

    Examples
    --------
    >>> found = restrictions("t1 = t2 = 0", ("t1", "t2"))
    >>> found.weights.tolist(), found.values.tolist()
    ([[1.0, -1.0], [0.0, 1.0]], [0.0, 0.0])

    Of coefficients named outcome: term, what names terms alone is asked of every outcome:

    >>> restrictions("t = 0", ("y: t", "z: t")).weights.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    try:
        return _read(wanted, names)
    except ParameterError:
        found = _of_each_outcome(wanted, names)
        if found is None:
            raise
        return found


def one_restriction(wanted: str | Mapping[str, float], names: Sequence[str]) -> Restrictions:
    """Read one linear combination, or refuse several."""
    asked = restrictions(wanted, names)
    if len(asked.weights) > 1:
        raise ParameterError(
            f"lincom takes one combination, got {len(asked.weights)}; use wald_test for several"
        )
    return asked


def _of_each_outcome(wanted: Any, names: Sequence[str]) -> Restrictions | None:
    """Return restrictions on terms for every outcome in turn; None if they cannot be read so."""
    split = [name.rpartition(": ") for name in names]
    outcomes = dict.fromkeys(outcome for outcome, _, _ in split)
    parts = []
    for outcome in outcomes:
        places = [at for at, one in enumerate(split) if one[0] == outcome]
        try:
            own = _read(wanted, [split[at][2] for at in places])
        except ParameterError:
            return None
        weights = np.zeros((len(own.weights), len(names)))
        weights[:, places] = own.weights
        texts = tuple(f"{outcome}: {text}" for text in own.texts)
        parts.append(replace(own, texts=texts, weights=weights))
    if len(parts) < 2:
        return None
    return Restrictions(
        tuple(text for one in parts for text in one.texts),
        np.vstack([one.weights for one in parts]),
        np.concatenate([one.values for one in parts]),
    )


def _read(
    wanted: str | Mapping[str, float] | Sequence[str | Mapping[str, float]], names: Sequence[str]
) -> Restrictions:
    one = isinstance(wanted, (str, Mapping)) or not isinstance(wanted, Sequence)
    several: list[Any] = [wanted] if one else list(wanted)
    texts: list[str] = []
    rows: list[Array] = []
    for one in several:
        if isinstance(one, Mapping):
            sides, said = [_of_mapping(one, names)], _written(one)
        elif isinstance(one, str):
            sides, said = [_side(part, names, one) for part in _parts(one, names)], one
        else:
            raise ParameterError(
                f"got ``{given(one)}``; write 'a - b', 'a = b = 0', or a ``mapping`` of weights"
            )
        if len(sides) == 1:
            sides.append(np.zeros(len(names) + 1))
        rows += [left - right for left, right in pairwise(sides)]
        texts.append(" ".join(said.split()))
    found = np.array(rows).reshape(-1, len(names) + 1)
    if not len(found) or not found[:, :-1].any(axis=1).all():
        raise ParameterError(
            f"``{given(wanted)}`` restricts no coefficient; the coefficients are {', '.join(names)}"
        )
    return Restrictions(tuple(texts), found[:, :-1], 0.0 - found[:, -1])


def _parts(text: str, names: Sequence[str]) -> list[str]:
    """Texts between signs of equality that are in no name."""
    parts, start, at = [], 0, 0
    while at < len(text):
        name = _name_at(text, at, names)
        if name:
            at += len(name)
        elif text[at] == "=":
            parts.append(text[start:at])
            at += 2 if text[at : at + 2] == "==" else 1
            start = at
        else:
            at += 1
    return [*parts, text[start:]]


def _name_at(text: str, at: int, names: Sequence[str]) -> str:
    """Return the longest name, or quoted name, that starts here and ends at a sign."""
    if text[at] == "`":
        end = text.find("`", at + 1)
        return text[at : end + 1] if end > at else ""
    before = text[at - 1] if at else " "
    if not _NAME_ENDS.match(before):
        return ""
    fitting = [
        name
        for name in names
        if text.startswith(name, at)
        and (at + len(name) == len(text) or _NAME_ENDS.match(text[at + len(name)]))
    ]
    return max(fitting, key=len, default="")


def _side(text: str, names: Sequence[str], whole: str) -> Array:
    """Return the weights of one side, its constant last."""
    found = np.zeros(len(names) + 1)
    at, sign, any_term = 0, 1.0, False
    wanted_sign = False
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        if text[at] in "+-" and not _name_at(text, at, names):
            sign = -sign if text[at] == "-" else sign
            wanted_sign = False
            at += 1
            continue
        if wanted_sign:
            raise _unread(whole, at, names)
        weight, at, name = _term(text, at, names, whole)
        if name is None:
            found[-1] += sign * weight
        else:
            found[list(names).index(name)] += sign * weight
        sign, any_term, wanted_sign = 1.0, True, True
    if not any_term or (not wanted_sign):
        raise _unread(whole, len(whole), names)
    return found


def _term(text: str, at: int, names: Sequence[str], whole: str) -> tuple[float, int, str | None]:
    """Return the weight, where the term ends, and its coefficient (None for a number)."""
    weight, factor = 1.0, True
    while factor:
        name = _name_at(text, at, names)
        if name:
            bare = name.strip("`")
            if bare not in names:
                raise _unread(whole, at, names)
            return weight, at + len(name), bare
        number = _NUMBER.match(text, at)
        if number is None:
            raise _unread(whole, at, names)
        weight *= float(number[0])
        at = number.end()
        rest = re.match(r"\s*([*/])\s*", text[at:])
        factor = rest is not None and rest[1] == "*"
        if rest is not None:
            at += rest.end()
            if rest[1] == "/":
                raise _unread(whole, at, names)
    return weight, at, None


def _unread(text: str, at: int, names: Sequence[str]) -> ParameterError:
    return ParameterError(
        f"``{given(text)}`` is not read near character {at + 1}; write 'a - b', '2*a + b = 1' or "
        f"'a = b = 0' of the coefficients {', '.join(names)}"
    )


def _of_mapping(weights: Mapping[str, float], names: Sequence[str]) -> Array:
    found = np.zeros(len(names) + 1)
    for name, weight in weights.items():
        number = isinstance(weight, (int, float)) and not isinstance(weight, bool)
        if name not in names or not (number and math.isfinite(weight)):
            raise ParameterError(
                f"``{given(name)}``: ``{given(weight)}`` is not a finite weight of a "
                f"coefficient; they are {', '.join(names)}"
            )
        found[list(names).index(name)] = weight
    return found


def _written(weights: Mapping[str, float]) -> str:
    parts = [
        f"{'-' if w < 0 else '+'} {'' if abs(w) == 1 else f'{abs(w):g}*'}{name}"
        for name, w in weights.items()
        if w
    ]
    return " ".join(parts).removeprefix("+ ")


def wald_test(estimate: Array, cov: Array, hypothesis: str, df_denom: float = math.inf) -> WaldTest:
    """Return the test that (q,) differences from their hypothesis, of covariance ``cov``, are 0.

    Restrictions that repeat others are counted once; those that contradict each other have no
    test and give NaN, as does a covariance that is not known.
    """
    sd = np.sqrt(np.maximum(np.diag(cov), 0))
    if not (np.isfinite(cov).all() and np.isfinite(estimate).all() and np.all(sd > 0)):
        return WaldTest(math.nan, math.nan, len(estimate), df_denom, hypothesis)
    w, U = np.linalg.eigh(cov / np.outer(sd, sd))
    keep = w > _RANK * w[-1]
    score = U.T @ (estimate / sd)
    if np.abs(score[~keep]).sum() > math.sqrt(_RANK) * (1 + np.abs(score).sum()):
        return WaldTest(math.nan, math.nan, int(keep.sum()), df_denom, hypothesis)
    q = int(keep.sum())
    chi2 = float((score[keep] ** 2 / w[keep]).sum())
    if math.isfinite(df_denom):
        p = float(special.fdtrc(q, df_denom, chi2 / q))
        return WaldTest(chi2 / q, p, q, df_denom, hypothesis)
    return WaldTest(chi2, float(special.chdtrc(q, chi2)), q, df_denom, hypothesis)


def noisy_test(
    estimate: Array, metric: Array, cov: Array, hypothesis: str, df_denom: float
) -> WaldTest:
    """Test that (q,) differences are 0, with a covariance that was released with noise.

    ``metric`` is the scale of the differences: positive definite, and large where the covariance is
    mostly noise.  ``cov`` is as released, its diagonal inflated.

    Notes
    -----
    Of d with the covariance V the square d' M^-1 d is a sum of chi-squares with the eigenvalues of
    A = M^-1 V as weights.  Two moments of that law, tr A and tr A^2, make it c times a chi-square
    of f = (tr A)^2 / tr A^2 degrees of freedom (Satterthwaite), an F where errors have few.  Both
    are sums over V, in which its noise averages out; the inverse of V, which the Wald test takes,
    is rather that of the noise.  With M = V it is the Wald test.

    References
    ----------
    Rao and Scott (1984), Annals of Statistics 12.
    """
    if not (np.isfinite(cov).all() and np.isfinite(estimate).all()):
        return WaldTest(math.nan, math.nan, len(estimate), df_denom, hypothesis)
    A = np.linalg.solve(metric, cov)
    first, second = float(np.trace(A)), float((A * A.T).sum())
    df = min(max(first**2 / second, 1.0), float(len(estimate)))
    statistic = float(estimate @ np.linalg.solve(metric, estimate)) / first
    if math.isfinite(df_denom):
        return WaldTest(
            statistic, float(special.fdtrc(df, df_denom, statistic)), df, df_denom, hypothesis
        )
    p = float(special.chdtrc(df, statistic * df))
    return WaldTest(statistic * df, p, df, df_denom, hypothesis)


def positive(cov: Array) -> Array:
    """Return the nearest positive semi-definite matrix: negative eigenvalues are set to 0."""
    w, U = np.linalg.eigh((cov + cov.T) / 2)
    found: Array = (U * np.maximum(w, 0)) @ U.T
    return found


@lru_cache(maxsize=4)
def _normals(dimensions: int) -> Array:
    """Return standard normal points of a Sobol sequence: the same in every process."""
    from scipy.stats import qmc

    points = qmc.Sobol(dimensions, scramble=False).random(2 * _DRAWS)[1:]
    found: Array = special.ndtri(points)
    return found


def _joint_draws(cov: Array) -> Array:
    """Return draws of |t| under the null, of the correlation of ``cov``."""
    sd = np.sqrt(np.diag(cov))
    w, U = np.linalg.eigh(cov / np.outer(sd, sd))
    found: Array = np.abs(_normals(len(sd)) @ (U * np.sqrt(np.maximum(w, 0))).T)
    return found


def family_pvalues(pvalues: Array, cov: Array) -> Array:
    """Return step-down max-t p-values of a family, from the joint normal law of its statistics.

    Each statistic is the normal quantile of its own p-value, so that what a single p-value
    accounts for, its family-wise one does too.  NaN stays NaN and is no member.
    """
    found = np.full(len(pvalues), np.nan)
    at = np.flatnonzero(np.isfinite(pvalues))
    if len(at):
        statistic = -special.ndtri(np.minimum(pvalues[at], 1) / 2)
        found[at] = step_down(statistic, _joint_draws(cov[np.ix_(at, at)]))
        found[at] = np.maximum(found[at], pvalues[at])
    return found


def simultaneous_level(cov: Array, alpha: float) -> float:
    """Return the size of single intervals that together cover with probability 1 - alpha."""
    at = np.flatnonzero(np.isfinite(np.diag(cov)))
    if not len(at):
        return alpha
    largest = np.sort(_joint_draws(cov[np.ix_(at, at)]).max(axis=1))
    critical = largest[math.ceil((1 - alpha) * len(largest)) - 1]
    return min(alpha, float(2 * special.ndtr(-critical)))
