"""The auditor finds faults that were put into the package on purpose.

Each test plants one, says what the auditor must report of it, and shows that the same pair of
neighbours is fine without it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct import Budget
from dprct.errors import ParameterError
from dprct.estimate.moments import model as model_of_moments
from dprct.estimate.moments import release as release_of_moments
from dprct.estimate.synthetic_control import allocation as control
from dprct.privacy import histograms, mechanisms
from dprct.queries import additive, members, one_step, propensity, slopes
from dprct.queries import scores as queries_of_scores
from dprct.queries.doubly_robust import FoldMoments
from dprct.queries.group_moments import STEPS as GRID
from dprct.queries.index_scores import IndexMap
from dprct.queries.treatment_moments import TreatmentMoments
from dprct.study.prepare import STEPS
from dprct.study.sections import Scope

from .auditor import Auditor
from .cases import CASES
from .neighbours import Pair
from .test_replay import audited

if TYPE_CHECKING:
    from collections.abc import Callable


def rows(n: int = 40, **columns: Any) -> pd.DataFrame:
    """All at a bound, half of them treated."""
    base = {"y": 0.0, "y2": 0.0, "w": -1.0, "x": 0.0, "t": np.tile([0.0, 1.0], n // 2), "g": "a"}
    return pd.DataFrame({**base, **columns}, index=range(n)).astype({"g": object})


def pair(name: str, delta: float = 0.0, epsilon: float = 1.0, **moved: Any) -> Pair:
    """Return a pair for a case of which the first row takes other values."""
    case = CASES[name]
    one = rows()[[*case.private, *case.public]]
    other = one.copy()
    for column, value in moved.items():
        other.loc[0, column] = value
    return Pair(case, case.schema((0.0, 1.0)), one, other, Budget(epsilon, delta))


def folds_moved() -> Pair:
    """Return a pair of a doubly robust effect of which one record moves all of its own."""
    case = CASES[FOLDS]
    every = rows(1200).assign(w=np.tile([-1.0, 1.0], 600))
    one = every[[*case.private, *case.public]]
    other = one.copy()
    for column, value in {"y": 1.0, "w": 1.0, "t": 1.0}.items():
        other.loc[0, column] = value
    return Pair(case, case.schema((0.0, 1.0)), one, other, Budget(8.0, 1e-6))


def findings(planted: Pair) -> str:
    """Return what the auditor reports of a pair."""
    with pytest.MonkeyPatch.context() as patch:
        found = Auditor(patch, at_length=False).audit(
            planted.make, planted.one, planted.other, planted.budget, **planted.case.options
        )
    assert not found.refused
    return "\n".join(found.findings)


def small_laplace(patch: pytest.MonkeyPatch) -> None:
    """Laplace noise is 10 % small, in vectors and in histograms."""
    for module in (mechanisms, histograms):
        right = module.laplace_scale
        patch.setattr(module, "laplace_scale", lambda *asked, right=right: 0.9 * right(*asked))


def small_gaussian(patch: pytest.MonkeyPatch) -> None:
    """Gaussian noise is 10 % small."""

    right = mechanisms.analytic_gaussian

    def wrong(*asked: Any) -> Any:
        noise = right(*asked)
        return replace(noise, scale=0.9 * noise.scale)

    patch.setattr(mechanisms, "analytic_gaussian", wrong)


def one_more_query(patch: pytest.MonkeyPatch) -> None:
    """Something is drawn with a tenth of epsilon that nobody charged."""
    right = dprct.PrivateATE._draw

    def wrong(self: Any, allocation: Any, noise: Any) -> Any:
        right(self, self._allocated(Budget(allocation.budget.epsilon / 10)), noise)
        return right(self, allocation, noise)

    patch.setattr(dprct.PrivateATE, "_draw", wrong)


def leaked_mask(patch: pytest.MonkeyPatch) -> None:
    """A row of the file has a value where the confidential row has one."""
    right = dprct.MVHistogram._columns

    def wrong(self: Any, *given: Any) -> Any:
        mask = np.isnan(self._table.frame["y"].to_numpy())
        return {**right(self, *given), "y": np.where(mask, np.nan, right(self, *given)["y"])}

    patch.setattr(dprct.MVHistogram, "_columns", wrong)


def side_of_the_box(patch: pytest.MonkeyPatch) -> None:
    """Noise covers what one coordinate moves, in place of the Euclidean length of all."""
    side = (2 * additive.HALF_STEPS) ** 2
    patch.setattr(additive.AdditiveLayout, "l2_squared", property(lambda layout: side))


def rows_in_the_box(patch: pytest.MonkeyPatch) -> None:
    """Rows of a propensity model fill the box of their bounds; the proof has them in a ball."""
    patch.setattr(propensity, "_ROUNDING", 0.25)


def noise_by_the_data(patch: pytest.MonkeyPatch) -> None:
    """The scale of the noise is chosen by the data."""
    right = dprct.PrivateATE._draw

    def wrong(self: Any, allocation: Any, noise: Any) -> Any:
        top = float(self._table.frame["y"].to_numpy().max())
        less = Budget(allocation.budget.epsilon / Fraction(1 + top))
        return right(self, self._allocated(less), noise)

    patch.setattr(dprct.PrivateATE, "_draw", wrong)


def truth_in_the_state(patch: pytest.MonkeyPatch) -> None:
    """What is saved for the ledger has a sum without noise."""
    right = dprct.PrivateATE._state

    def wrong(self: Any, found: Any) -> Any:
        return {**right(self, found), "check": float(self._table.frame["y"].to_numpy().sum())}

    patch.setattr(dprct.PrivateATE, "_state", wrong)


def draw_without_mechanism(patch: pytest.MonkeyPatch) -> None:
    """Noise is added to a sum that says nothing of its sensitivity."""
    right = dprct.PrivateATE._draw

    def wrong(self: Any, allocation: Any, noise: Any) -> Any:
        noise.discrete_laplace(1.0, 1)
        return right(self, allocation, noise)

    patch.setattr(dprct.PrivateATE, "_draw", wrong)


def note_by_the_data(patch: pytest.MonkeyPatch) -> None:
    """A plan warns of what the confidential rows hold."""

    right = dprct.PrivateATE.plan

    def wrong(self: Any, *asked: Any, **ticks: Any) -> Any:
        plan = right(self, *asked, **ticks)
        high = (self._table.frame["y"].to_numpy() == 1).any()
        return plan.also(warnings=["somebody is at the bound"]) if high else plan

    patch.setattr(dprct.PrivateATE, "plan", wrong)


def predictors_without_price(patch: pytest.MonkeyPatch) -> None:
    """Ridge weights match a predictor, and their noise is that of the pre-periods alone."""
    right = control.RidgeGrid
    patch.setattr(control, "RidgeGrid", lambda n, T0, lam, y_norm, _: right(n, T0, lam, y_norm))


def predictor_moved() -> Pair:
    """Return a panel in which the predictor of one donor goes from one bound to the other."""
    case = CASES["estimate.SyntheticControl: predictors"]
    one = pd.DataFrame({
        "region": np.repeat([0.0, 1.0, 2.0], 6), "year": np.tile(np.arange(2000.0, 2006), 3),
        "y": 0.5, "w": np.repeat([1.0, 0.0, 1.0], 6),
    })  # fmt: skip
    other = one.assign(w=one["w"].where(one["region"] != 0, -1.0))
    return Pair(case, case.schema((0.0, 1.0)), one, other, Budget(1.0, 1e-4))


def people_for_clusters(patch: pytest.MonkeyPatch) -> None:
    """The squares of clusters are as sensitive as if a person moved their sums by a 64th."""
    right = one_step.square_move
    patch.setattr(one_step, "square_move", lambda d, most: right(d // 64, most))


def short_folds(patch: pytest.MonkeyPatch) -> None:
    """The moments of the folds of a doubly robust effect claim half of their sensitivity."""
    right = FoldMoments.l2_squared.fget  # type: ignore[attr-defined]
    patch.setattr(FoldMoments, "l2_squared", property(lambda one: right(one) // 4))


def short_logit(patch: pytest.MonkeyPatch) -> None:
    """The moments of a logit of treatment claim half of their sensitivity."""
    right = TreatmentMoments.l2_squared.func
    patch.setattr(TreatmentMoments, "l2_squared", property(lambda one: right(one) // 4))


def short_weights(patch: pytest.MonkeyPatch) -> None:
    """The weights of a coefficient are taken to be a quarter as long as they are."""
    right = one_step.OnGrid.moves.fget
    patch.setattr(one_step.OnGrid, "moves", property(lambda grid: right(grid) // 4 + 1))


def short_products(patch: pytest.MonkeyPatch) -> None:
    """Sums of products with covariates are taken to move together by a quarter of what they do."""
    right = slopes.Slopes.effects.fget

    def short(score: slopes.Slopes) -> one_step.OnGrid:
        found = right(score)
        return one_step.OnGrid(found.reach // 4, found.lengths // 16)

    patch.setattr(slopes.Slopes, "effects", property(short))


def members_that_stay(patch: pytest.MonkeyPatch) -> None:
    """Who comes or goes is taken to move the sums over members by a quarter of what it does."""
    right = members.Members.effects.fget

    def short(score: members.Members) -> one_step.OnGrid:
        found = right(score)
        return replace(found, reach=found.reach // 4, lengths=found.lengths // 16)

    patch.setattr(members.Members, "effects", property(short))


def totals_without_loads(patch: pytest.MonkeyPatch) -> None:
    """Weighted totals of residuals are as sensitive as if rows weighed a 64th."""
    right = one_step.Score.totals.fget

    def wrong(score: one_step.Score) -> one_step.OnGrid:
        loads = None if score.loads is None else score.loads // 64
        return right(replace(score, loads=loads))

    patch.setattr(one_step.Score, "totals", property(wrong))


def products_that_hardly_move(patch: pytest.MonkeyPatch) -> None:
    """Products of residuals are as sensitive as if a person moved them by a 64th."""
    right = one_step.product_move
    patch.setattr(one_step, "product_move", lambda d, c, e, k: right(d // 64, c, e // 64, k))


def squares_that_hardly_move(patch: pytest.MonkeyPatch) -> None:
    """The mean square of residuals is as sensitive as if a person moved it by a 64th."""
    right = one_step.Score.squares
    moves = one_step.OnGrid.moves.fget

    def wrong(score: one_step.Score, most: Any, *, joint: bool = True) -> one_step.OnGrid:
        found = right(score, most, joint=joint)
        return found if score.counted is None else Short(found.reach)

    class Short(one_step.OnGrid):
        @property
        def moves(self) -> Any:
            return moves(self) // 64 + 1

    of_members = members.Members.squares

    def too_short(score: members.Members, most: Any, *, joint: bool = True) -> one_step.OnGrid:
        found = of_members(score, most, joint=joint)
        return found if score.counted is None else Short(found.reach, holds=found.holds)

    patch.setattr(one_step.Score, "squares", wrong)
    patch.setattr(members.Members, "squares", too_short)


def one_row_of_a_person(patch: pytest.MonkeyPatch) -> None:
    """All rows of a person are taken to move sums as the one that moves them most does."""
    right = one_step.Score._of_a_person

    def wrong(score: one_step.Score, by_cell: Any) -> Any:
        if score.members is None:
            return right(score, by_cell)
        pattern, rows = score.members
        return right(replace(score, members=np.array([pattern, rows * 0 + 1])), by_cell // 4)

    patch.setattr(one_step.Score, "_of_a_person", wrong)


def panel_moved(name: str) -> Pair:
    """Return a pair in which all rows of a person go from bound to bound."""
    case, n = CASES[name], 1200
    one = pd.DataFrame({
        "y": np.arange(n) // 2 % 2 * 1.0, "w": 0.0, "pid": np.arange(n) // 2 * 1.0,
        "t": (np.arange(n) >= n // 2) * 1.0, "x": np.arange(n) % 2 * 1.0,
        "pair": np.arange(n) // 2 * 1.0, "g": "a",
    })[[*case.private, *case.public]]  # fmt: skip
    other = one.copy()
    other.loc[:1, "y"] = 1.0
    return Pair(case, case.schema((0.0, 1.0)), one, other, Budget(8.0, 1e-4))


def declared_moved(name: str) -> Pair:
    """Return a pair of a declared regression in which one outcome goes from bound to bound."""
    case = CASES[name]
    n = 1200
    t = (np.arange(n) >= n // 2) * 1.0 if "pair" in case.public else np.arange(n) % 2.0
    every = {
        "y": np.arange(n) // 2 % 2 * 1.0,
        "w": 0.0,
        "x": 0.0,
        "t": t,
        "pair": np.arange(n) // 2 * 1.0,
        "block": 1.0,
        "year": np.arange(n) % 600 * 1.0,
        "v": np.where(np.arange(n) // 2 % 2, 4.0, 8.0),
        "took": np.arange(n) // 4 % 2 * 1.0,
        "g": "a",
    }
    one = pd.DataFrame({k: every[k] for k in (*case.private, *case.public)}, index=range(n))
    if "joint" in case.name:
        one["w"] = np.arange(n) // 4 % 2 * 1.0
    if "year" in case.public:  # the sums of both clusters grow
        one.loc[1, "y"] = 1.0
    other = one.copy()
    other.loc[0, "y"] = 1.0
    if "joint" in case.name:
        other.loc[0, "w"] = 1.0
    if "classical" in case.name:  # from 0 to 1 the square of a residual would be the same
        one.loc[0, "y"] = 0.5
    if "g" in case.private and "classical" not in case.name:
        other.loc[0, "g"] = "b"
    if "took" in case.private:
        other.loc[0, "took"] = 1.0
    if "t" in case.private:  # the arm alone changes
        other.loc[0, ["t", "y"]] = 1.0, one["y"][0]
    if "v" in case.private:
        one.loc[0, "v"], other.loc[0, "v"] = 8.0, 0.0
    return Pair(case, case.schema((0.0, 1.0)), one, other, Budget(8.0, 1e-4))


LATE = "estimate.PrivateMoments: declared, an instrument that villages were assigned"
PERSONS = "estimate.PrivateMoments: declared, persons of several rows"
SOME_PERSONS = f"{PERSONS}, some by a private column"
JOINT = "estimate.PrivateMoments: declared, joint tests, villages"
CLASSICAL = "estimate.PrivateMoments: declared, classical errors"
OF_MEMBERS = (
    "estimate.PrivateMoments: declared, classical errors of people whom private columns choose"
)
MEMBERS = "estimate.PrivateMoments: declared, people whom private columns choose"
HIDDEN = "estimate.PrivateMoments: declared, treatment that is private"
WITHIN = "estimate.PrivateMoments: declared, values that are private, within blocks"
OWN_WEIGHTS = "estimate.PrivateMoments: declared, weights that are private"
LOADED = "estimate.PrivateMoments: declared, weights that are public"
ADJUSTED = "estimate.PrivateMoments: declared, adjusted"
PRODUCTS = "estimate.PrivateMoments: declared, products of treatment and covariates, villages"
WEIGHED = "estimate.PrivateMoments: declared, products of treatment and covariates, public weights"
OWN_PRODUCTS = (
    "estimate.PrivateMoments: declared, products of treatment and covariates, private weights"
)
VILLAGES = "estimate.PrivateMoments: declared, villages that were assigned"
TWO_WAYS = "estimate.PrivateMoments: declared, errors clustered in two ways"
EFFECT = "estimate.PrivateATE: two arms"
TOGETHER = "estimate.PrivateATE: two outcomes"
HISTOGRAM = "release.MVHistogram: all columns"
MARGINALS = "release.Marginals: all columns"
FOLDS = "estimate.IPW: doubly robust"
CHOSEN = "estimate.CATE: propensity by a logit"
ADDITIVE, WEIGHTED = "estimate.PrivateAdditive: plain", "estimate.IPW: the effect"
EVERYTHING = {"y": 1.0, "x": 2.0, "g": "b"}

FAULTS: dict[str, tuple[Any, Callable[[], Pair], str]] = {
    "Laplace noise 10 % small, an effect": (
        small_laplace, lambda: pair(EFFECT, y=1.0), "loss: log ratio",
    ),
    "noise of two outcomes together 10 % small": (
        small_laplace, lambda: pair(TOGETHER, y=1.0, y2=1.0), "loss: log ratio",
    ),
    "Laplace noise 10 % small, all cells": (
        small_laplace, lambda: pair(HISTOGRAM, **EVERYTHING), "loss: log ratio",
    ),
    "Laplace noise 10 % small, at a tiny epsilon": (
        small_laplace, lambda: pair(MARGINALS, epsilon=1e-6, **EVERYTHING), "loss: log ratio",
    ),
    "Gaussian noise 10 % small": (
        small_gaussian, lambda: pair(MARGINALS, 1e-6, **EVERYTHING), "sum of (shift / sigma)^2",
    ),
    "one query uncharged": (one_more_query, lambda: pair(EFFECT, y=1.0), "loss: log ratio"),
    "a mask leaked": (
        leaked_mask, lambda: pair(HISTOGRAM, y=np.nan), "after the fit: result.protected['y']",
    ),
    "a side of the box for the ball": (
        side_of_the_box, lambda: pair(ADDITIVE, 1e-6, y=1.0, w=1.0, x=2.0),
        "sum of (shift / sigma)^2",
    ),
    "rows of the box for those of the ball": (
        rows_in_the_box, lambda: pair(WEIGHTED, 1e-6, t=1.0, w=1.0, x=2.0),
        "sum of (shift / sigma)^2",
    ),
    "moments of folds taken to move by half": (
        short_folds, folds_moved, "sum of (shift / sigma)^2",
    ),
    "moments of a logit taken to move by half": (
        short_logit, lambda: pair(CHOSEN, 1e-6, w=1.0, x=2.0, t=1.0), "sum of (shift / sigma)^2",
    ),
    "a predictor that costs nothing": (
        predictors_without_price, predictor_moved, "sum of (shift / sigma)^2",
    ),
    "weights of a declared regression taken to be short": (
        short_weights, lambda: declared_moved(ADJUSTED), "sum of (shift / sigma)^2",
    ),
    "products with covariates taken to be short": (
        short_products, lambda: declared_moved(PRODUCTS), "sum of (shift / sigma)^2",
    ),
    "weighted products with covariates taken to be short": (
        short_products, lambda: declared_moved(WEIGHED), "sum of (shift / sigma)^2",
    ),
    "products with covariates by private weights taken to be short": (
        short_products, lambda: declared_moved(OWN_PRODUCTS), "sum of (shift / sigma)^2",
    ),
    "members taken to stay what they are": (
        members_that_stay, lambda: declared_moved(MEMBERS), "sum of (shift / sigma)^2",
    ),
    "private arms taken to stay what they are": (
        members_that_stay, lambda: declared_moved(HIDDEN), "sum of (shift / sigma)^2",
    ),
    "members of blocks taken to stay what they are": (
        members_that_stay, lambda: declared_moved(WITHIN), "sum of (shift / sigma)^2",
    ),
    "private weights taken to stay what they are": (
        members_that_stay, lambda: declared_moved(OWN_WEIGHTS), "sum of (shift / sigma)^2",
    ),
    "squares of clusters that move by a 64th": (
        people_for_clusters, lambda: declared_moved(VILLAGES), "sum of (shift / sigma)^2",
    ),
    "squares of two ways of clusters that move by a 64th": (
        people_for_clusters, lambda: declared_moved(TWO_WAYS), "sum of (shift / sigma)^2",
    ),
    "products of two regressions that move by a 64th": (
        products_that_hardly_move, lambda: declared_moved(LATE), "sum of (shift / sigma)^2",
    ),
    "products of two outcomes that move by a 64th": (
        products_that_hardly_move, lambda: declared_moved(JOINT), "sum of (shift / sigma)^2",
    ),
    "a mean square of residuals that moves by a 64th": (
        squares_that_hardly_move, lambda: declared_moved(CLASSICAL), "sum of (shift / sigma)^2",
    ),
    "a mean square of residuals of members that moves by a 64th": (
        squares_that_hardly_move, lambda: declared_moved(OF_MEMBERS), "sum of (shift / sigma)^2",
    ),
    "one row of a person for all of them": (
        one_row_of_a_person, lambda: panel_moved(PERSONS), "sum of (shift / sigma)^2",
    ),
    "one row of a member for all of them": (
        one_row_of_a_person, lambda: panel_moved(SOME_PERSONS), "sum of (shift / sigma)^2",
    ),
    "totals of weighted residuals that weigh a 64th": (
        totals_without_loads, lambda: declared_moved(LOADED), "sum of (shift / sigma)^2",
    ),
    "noise chosen by the data": (
        noise_by_the_data, lambda: pair(EFFECT, y=1.0), "the neighbour has other noise",
    ),
    "truth in a saved state": (
        truth_in_the_state, lambda: pair(EFFECT, y=1.0), "after the fit: state['check']",
    ),
    "a draw without a mechanism": (
        draw_without_mechanism, lambda: pair(EFFECT, y=1.0), "drawn outside a mechanism",
    ),
    "a warning by the data": (
        note_by_the_data, lambda: pair(EFFECT, y=1.0), "before the fit: plan.warnings",
    ),
}  # fmt: skip


def scores_by_root_two(patch: pytest.MonkeyPatch) -> None:
    """The products of scores claim the sensitivity of one unit that leaves, over root 2."""
    for module in (queries_of_scores, release_of_moments):
        patch.setattr(module, "SCORE_SQUARED", GRID**4)


def index_scores_of_a_quarter(patch: pytest.MonkeyPatch) -> None:
    """Scores of a logit claim a quarter of what a row can move them by."""
    right = IndexMap.score_squared.fget  # type: ignore[attr-defined]
    patch.setattr(IndexMap, "score_squared", property(lambda one: right(one) // 16))


def information_of_a_tenth(patch: pytest.MonkeyPatch) -> None:
    """The information of a logit claims a tenth of its sensitivity."""
    right = IndexMap.information_squared.fget  # type: ignore[attr-defined]
    patch.setattr(IndexMap, "information_squared", property(lambda one: right(one) // 100))


def scores_at_the_whole_budget(patch: pytest.MonkeyPatch) -> None:
    """Scores are drawn as if nothing else were."""
    _drawn_at_the_whole_budget(patch, "scores")


def moments_at_the_whole_budget(patch: pytest.MonkeyPatch) -> None:
    """Moments are drawn at all of mu squared, of which nine tenths are charged."""
    _drawn_at_the_whole_budget(patch, "moments")


def _drawn_at_the_whole_budget(patch: pytest.MonkeyPatch, part: str) -> None:
    right = model_of_moments.gaussian_of

    def wrong(allocation: Any, name: str = "moments") -> Any:
        law = right(allocation, name)
        if not name.startswith(part):
            return law
        return mechanisms.AnalyticGaussian(allocation.budget, law.l2_squared, law.size)

    for module in (model_of_moments, release_of_moments):
        patch.setattr(module, "gaussian_of", wrong)


def rows_of_others(patch: pytest.MonkeyPatch) -> None:
    """What a study makes of somebody's rows depends on the rows before."""
    for step in STEPS.values():
        patch.setattr(step, "rows", _carried_on(step.rows))


def _carried_on(right: Callable[..., pd.DataFrame]) -> Callable[..., pd.DataFrame]:
    def wrong(step: Any, data: pd.DataFrame, home: Any) -> pd.DataFrame:
        found = right(step, data, home)
        values = [name for name in found if name in ("y", "y0", "w")]
        return found.assign(**{name: found[name].fillna(0.0).cummax() for name in values})

    return wrong


def refusal_by_an_arm(patch: pytest.MonkeyPatch) -> None:
    """A table in which nobody is treated is refused, where it is private who is."""
    right = dprct.PrivateATE._bind

    def wrong(self: Any, *given: Any, **options: Any) -> Any:
        known = right(self, *given, **options)
        _check_anybody_treated(self)
        return known

    patch.setattr(dprct.PrivateATE, "_bind", wrong)


def refusal_after_a_draw(patch: pytest.MonkeyPatch) -> None:
    """A fit ends in a refusal by a private count, after its first draw."""
    right = dprct.PrivateATE._draw

    def wrong(self: Any, allocation: Any, noise: Any) -> Any:
        found = right(self, allocation, noise)
        _check_anybody_treated(self)
        return found

    patch.setattr(dprct.PrivateATE, "_draw", wrong)


def _check_anybody_treated(model: Any) -> None:
    if not (model._table.frame["t"].to_numpy() == 1).any():
        raise ParameterError("an arm is empty; give another table")


SCORES = "estimate.PrivateMoments: scores, cov_type=HC1"
LOGIT = "estimate.PrivateMoments: scores, logit"
HIDDEN_ARMS = "estimate.PrivateATE: treatment private, simple"
UNDER_CASES: dict[str, tuple[Any, str, str]] = {
    "scores over root 2": (scores_by_root_two, SCORES, "release 2, AnalyticGaussian: moved by l2"),
    "scores at the whole budget": (scores_at_the_whole_budget, SCORES, "claims: "),
    "moments at the whole budget": (moments_at_the_whole_budget, SCORES, "claims: "),
    **{
        f"rows of others, {name}": (rows_of_others, f"estimate.PrivateMoments: {name}", "moved by")
        for name in (
            "scores, CR1, rounds appended",
            "scores, CR1, waves as rows",
            "waves as columns",
            "means of villages",
        )
    },
    "index scores of a quarter": (
        index_scores_of_a_quarter,
        LOGIT,
        "AnalyticGaussian: moved by",  # the second or the third step, whichever comes first
    ),
    "information of a tenth": (
        information_of_a_tenth,
        LOGIT,
        "AnalyticGaussian: moved by",
    ),
    "a refusal by an arm": (refusal_by_an_arm, HIDDEN_ARMS, "constructor: "),
    "a refusal after a draw": (refusal_after_a_draw, HIDDEN_ARMS, "charged, then "),
}
"""Faults that once passed every case, and the case whose own pairs find them now."""


@pytest.mark.parametrize("fault", UNDER_CASES)
def test_a_fault_is_found_by_the_pairs_of_a_case(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant, name, said = UNDER_CASES[fault]
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=re.escape(said)):
        audited(CASES[name], monkeypatch, 3, at_length=False)


MOST_PARTITIONS = 40
"""So that a fault goes unseen with probability 2^-40; most are seen at once."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    plant, neighbours, said = FAULTS[fault]
    assert findings(neighbours()) == ""
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        # where rows are parted at random, half of the partitions have the person in the other part
        assert any(said in findings(neighbours()) for _ in range(MOST_PARTITIONS))


def test_a_sample_by_a_private_column_is_found() -> None:
    """What ``check_sample`` refuses: who is in the sample tells of whoever was replaced."""
    case = CASES["release.MVHistogram: all columns"]

    def make(table: Any, schema: Any) -> Any:
        return case.make(Scope(sample="x > 0").sampled(table), schema)

    one = rows(x=np.tile([0.0, 1.0], 20))[[*case.private]]
    other = one.copy()
    other.loc[0, "x"] = 1.0
    planted = Pair(replace(case, make=make), case.schema((0.0, 1.0)), one, other, Budget(1.0))
    assert "plan.facts[" in findings(planted)
    public = replace(planted, case=replace(case, make=case.make))
    assert findings(public) == ""
