"""The Hybrid method (dp_rct.txt, Algorithm 2): new covariates, the confidential outcome model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dprct.published.informed import Imputed, InformedSpec, ModelInformed

if TYPE_CHECKING:
    import numpy as np

    from dprct.privacy.allocation import Allocation
    from dprct.privacy.budget import Budget
    from dprct.published.informed import InformedFacts, Rows
    from dprct.results.plan import Plan

REASON = (
    "the outcome model is confidential: outcomes are drawn from the coefficients and the residual "
    "variance of the confidential fit as they are (Algorithm 2), whatever the covariates have"
)


@dataclass(frozen=True, kw_only=True)
class HybridSpec(InformedSpec):
    """What the Hybrid method is asked for: the options of :class:`Hybrid`."""

    method: ClassVar[str] = "published.Hybrid (dp_rct Algorithm 2)"

    def plan(self, facts: InformedFacts, allocation: Allocation) -> Plan:
        """Return how X~ and T~ are drawn, and what is not promised."""
        return self.planned(
            facts,
            allocation.budget,
            {"model": self.roles.formula.text},
            (
                "outcomes are drawn from the confidential fit: coefficients can be estimated from "
                "the file as well as n rows allow, with no noise against that",
            ),
        )

    def x_budget(self, facts: InformedFacts, budget: Budget) -> Budget:
        """Return all of it: outcomes are drawn without noise."""
        return budget

    def reason(self, facts: InformedFacts, budget: Budget) -> str:
        """Return why nothing is promised."""
        return f"{REASON}; {facts.covariates.words(budget)}"


class Hybrid(ModelInformed[HybridSpec]):
    """Release an experiment through Algorithm 2: **no differential-privacy guarantee**.

    Parameters
    ----------
    data : data frame
        pandas or Polars, n rows.
    schema : Schema
        If no column has a fate, those of the formula are modelled and the others withheld.  With
        ``x_method="strict"`` or ``"marginals"`` covariates need bounds or levels, and a missing
        policy.
    formula : str
        ``"y1 + y2 ~ tp + cash + x + C(strata)"``: several outcomes share X~ and T~, and each has
        its own model.
    treatment : str or sequence of str
        The treatment columns.
    assignment : Design
        Draws T~, such as ``dprct.Block("tp", block="strata")``; not needed where a treatment
        interacts with covariates: it then goes through the histogram with them.
    families : mapping of str to {"gaussian", "binomial", "poisson"}, optional
        By outcome; gaussian otherwise.  Binomial draws 0 or 1, poisson draws counts.
    x_method : {"published", "strict", "marginals"} or data frame
        Where X~ comes from: Algorithm 1 as published, the strict histogram or marginals of this
        package, or released rows of your own.
    zeta : float, optional
        Bins of the histogram; 2/3 for the published one.
    missing_outcomes : {"reproduce", "drop"}
        Give every arm of the released file its share of missing outcomes, per missing code, or
        let all outcomes be observed.  Rows with a missing one are left out of the fit anyway.
    attrition : bool
        Rows were lost after the assignment, so that arm sizes need not be those of the design.
    keep : iterable of str
        Characteristics to keep besides the allow-list.

    Raises
    ------
    FormulaError, ColumnError, SchemaError
        If the formula, a column or a declared fact is wrong.
    ParameterError
        If the treatment columns are not those of the design, arms overlap or break it, an outcome
        is missing in every row, has too many regressors, or is separated by them.

    Notes
    -----
    Guarantee: none.  With strict X~ these columns, alone, are (epsilon, delta)-private and are
    charged to the ledger; the outcomes are not private at all.

    Residual variance is ``RSS / (n - rank)`` (the authors' code divides by n - 1).  A regressor
    that is a linear combination of earlier ones is omitted, as in R, and listed in the plan.  A
    released row with a missing covariate has missing outcomes, as the model says nothing of it.
    No ``estimates`` are released: fit the file.

    References
    ----------
    Algorithm 2 of "Assessing Utility of Differential Privacy for RCTs"; ALGORITHMS.md, section 2.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from dprct import Complete
    >>> from dprct.schema import Column, Schema
    >>> rng = np.random.default_rng(1)
    >>> data = pd.DataFrame({"t": np.tile([0.0, 1.0], 200), "x": rng.integers(0, 9, 400) * 1.0})
    >>> data["y"] = 5 * data["t"] + data["x"] + rng.normal(size=400)
    >>> schema = Schema((Column("t", "byte"), Column("x", "byte"), Column("y")))
    >>> model = Hybrid.from_formula(
    ...     "y ~ t + x", data, schema, treatment="t", assignment=Complete("t")
    ... )
    >>> release = model.fit(epsilon=1)
    >>> release.protected.shape, release.guarantee.holds
    ((400, 3), False)
    """

    def _specified(self, **common: Any) -> HybridSpec:
        return HybridSpec(**common)

    def _impute(self, rows: Rows, budget: Budget, rng: np.random.Generator) -> Imputed:
        return Imputed({fit.outcome: fit.draw(rows.design, rng) for fit in self.facts.fits})
