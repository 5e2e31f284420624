"""Tables 5, 9, 10 and 19, which list variables and parameters: each line beside what holds here."""

from __future__ import annotations

from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

import pandas as pd

from dprct.privacy.budget import Budget
from dprct.published import Allocation
from dprct.published.genmodel import Settings
from papers.rct import liberia
from papers.rct.methods import ZETA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MISSING: Mapping[str, int] = MappingProxyType(
    dict.fromkeys(liberia.OUTCOMES, 0)
    | {"carryweapon_ltav": 4, "asbhostilstd_ltav": 4, "domabuse_z_ltav": 217}
)
"""Outcomes, and missing observations by the stars of the page (Table 5)."""

BINARY = (
    "drugssellever_b", "drinkboozeself_b", "druggrassself_b", "harddrugsever_b", "steals_b",
    "livepartner_b", "muslim_b", "schoolbasin_b", "disabled_b", "faction_b", "homeless_b",
    "loan50_b", "loan300_b", "grassdailyuser_b", "harddrugsdailyuser_b",
)  # fmt: skip
"""Table 9."""

OTHERS = (
    "age_b", "asbhostil_b", "school_b", "wealth_indexstd_b", "cognitive_score_b", "mpartners_b",
    "hhunder15_b", "illicit7da_zero_b", "agricul7da_zero_b", "nonagwage7da_zero_b",
    "allbiz7da_zero_b", "nonaghigh7da_zero_b", "agriculeveramt_b", "nonagbizeveramt_b",
    "nonaghigheveramt_b", "stealnb_nonviol_b", "stealnb_felony_b", "disputes_all_b", "timedecl_b",
    "riskdecl_b", "ef_score_b", "famseeoften_b", "literacy_b", "mathscore_b", "health_resc_b",
    "depression_b", "distress_b", "rel_commanders_b", "warexper_b", "slphungry7dx_b",
    "conscientious_b", "neurotic_b", "grit_b", "rewardresp_b", "locuscontr_b", "impulsive_b",
    "selfesteem_b", "patient_game_real_b", "inconsistent_game_resc_b", "risk_game_resc_b",
)  # fmt: skip
"""Table 10."""

TITLES: Mapping[int, str] = MappingProxyType(
    {
        5: "Table 5: outcomes, and their missing observations",
        9: "Table 9: binary covariates, and the values that each has",
        10: "Table 10: covariates that are not binary, and the values that each has",
        19: "Table 19: what GenModel spends, and its parameters",
    }
)


def compared_list(number: int, data: pd.DataFrame | None) -> pd.DataFrame:
    """Return one of Tables 5, 9, 10 and 19 line by line.

    Parameters
    ----------
    number : int
    data : DataFrame or None
        The experiment of Liberia; None for Table 19.

    Returns
    -------
    DataFrame
        ``row``, ``printed`` and ``ours`` as text, and ``same``.
    """
    if number == 19:
        rows = [(name, f"{theirs}", f"{ours}", theirs == ours) for name, theirs, ours in _shares()]
    else:
        assert data is not None
        rows = list(_outcomes(data) if number == 5 else _covariates(number, data))
    return pd.DataFrame(rows, columns=["row", "printed", "ours", "same"])


def _outcomes(data: pd.DataFrame) -> Iterator[tuple[str, str, str, bool]]:
    for name, printed in MISSING.items():
        ours = int(data[name].isna().sum())
        yield name, f"{printed}", f"{ours}", printed == ours


def _covariates(number: int, data: pd.DataFrame) -> Iterator[tuple[str, str, str, bool]]:
    """Yield the covariates of the page, then those of the file that neither page lists."""
    columns = [str(name) for name in data.columns]
    for name in BINARY if number == 9 else OTHERS:
        values = int(data[name].nunique()) if name in columns else 0
        printed = "2" if number == 9 else "more than 2"
        same = values == 2 if number == 9 else values > 2
        yield name, printed, f"{values}" if values else "not in the file", same
    for name in liberia.baseline(columns):
        values = int(data[name].nunique())
        if name not in (*BINARY, *OTHERS) and (values == 2) == (number == 9):
            yield name, "not listed", f"{values}", False


def _shares() -> Iterator[tuple[str, Fraction | float, Fraction | float]]:
    """Yield what Table 19 prints and what is here: epsilons by setting, then the rest."""
    half = Fraction(1, 2)
    section5 = {"GenM-1": (1, half), "GenM-2": (2, Fraction(1)), "GenM-9": (9, Fraction(1))}
    settings = {
        "section 4, GenM-1": (Fraction(1), half, 1, 1, 8, Allocation.section4()),
        "section 4, GenM-2": (Fraction(2), Fraction(1), 1, 1, 8, Allocation.section4()),
    } | {
        f"section 5, {name}": (Fraction(epsilon), x, 8, 3, 9, Allocation.section5(x))
        for name, (epsilon, x) in section5.items()
    }
    for name, (epsilon, x, outcomes, t, p, rule) in settings.items():
        arms, others = [f"t{k}" for k in range(t)], [f"x{k}" for k in range(p)]
        responses = [f"y{k}" for k in range(outcomes)]
        parts = rule.divide(
            Budget(epsilon), responses, arms, {name: [*arms, *others] for name in responses}
        )
        y = (epsilon - x) / outcomes
        own = parts.outcomes[responses[0]]
        arm, other = own.coefficients[arms[0]], own.coefficients[others[0]]
        yield f"{name}: X~", x, parts.covariates.epsilon
        yield f"{name}: an outcome", y, own.epsilon
        yield f"{name}: each step of its variance", y / 30, own.variance
        # of the section's t arms each
        yield f"{name}: range of an effect, t = {t}", 3 * y / (20 * t), arm.range_
        yield f"{name}: noise of an effect, t = {t}", 3 * y / (20 * t), arm.noise
        yield f"{name}: range of another coefficient, p = {p}", 3 * y / (10 * p), other.range_
        yield f"{name}: noise of another coefficient, p = {p}", 3 * y / (10 * p), other.noise
    found = Settings()
    yield "zeta", 2 / 3, ZETA
    yield "B", 5000, found.B
    yield "sigma_min", 2.0**-15, found.sigma_min
    yield "sigma_max", 2.0**15, found.sigma_max
    of_range = found.range(1.0, Fraction(1))
    yield "alpha", 0.05, of_range.alpha
    yield "upsilon", 50, of_range.v
