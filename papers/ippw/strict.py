"""The strict estimator on the same samples, and ordinary estimators without privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dprct.custodian import baselines
from dprct.estimate.ipw import IPW
from dprct.estimate.ipw.draws import released
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source
from papers.ippw.samples import SYNTHETIC_N2
from papers.ippw.setups import DELTA, Estimates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    import numpy as np

    from papers.ippw.samples import Sample, Study


@dataclass(frozen=True, slots=True)
class Strict:
    """A way to call :class:`dprct.IPW`.

    Parameters
    ----------
    title : str
    options : mapping
    """

    title: str
    options: Mapping[str, Any]


STRICT: Mapping[str, Strict] = {
    "strict": Strict("strict", {"hajek": False}),
    "hajek": Strict("strict, Hajek", {"hajek": True}),
}


def strict(
    study: Study,
    sample: Sample,
    epsilons: Sequence[Fraction],
    rng: np.random.Generator,
    **options: Any,
) -> Estimates:
    """Return one draw of :class:`dprct.IPW` at every epsilon; NaN where it releases no effect.

    Notes
    -----
    The private step alone is run, as ``fit`` runs it in simulation: standard errors are not asked
    for, and would take most of the time.
    """
    split = None
    if study.name == "synthetic":
        split = study.n1 / (study.n1 + SYNTHETIC_N2)
    model = IPW.from_arrays(
        sample.X, sample.t, sample.y,
        bounds=study.bounds, x_bounds=study.x_bounds, split=split, errors="conditional", **options,
    )  # fmt: skip
    rows, radius = model._rows(), (study.bounds[1] - study.bounds[0]) / 2
    noise = source(rng)
    found = tuple(
        released(model.recipe, rows, model.recipe.priced(Budget(epsilon, DELTA)), noise).theta
        * radius
        for epsilon in epsilons
    )
    nothing = (float("nan"),) * len(found)
    return Estimates(float("nan"), nothing, found, 1)


def without_privacy(sample: Sample) -> dict[str, float]:
    """Return the difference in means, and ``teffects ipw`` and ``aipw`` on all rows."""
    y, t = sample.y, sample.t
    found = {"difference in means": float(y[t].mean() - y[~t].mean())}
    for estimator in ("ipw", "aipw"):
        fit = baselines.IPW.from_arrays(sample.X, t, y, estimator=estimator).fit()
        found[estimator] = fit.estimate
    return found
