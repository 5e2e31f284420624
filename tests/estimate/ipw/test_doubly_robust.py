"""The doubly robust effect: sensitivities, the estimator without noise, and what is refused."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dprct import IPW
from dprct.errors import ParameterError
from dprct.estimate.ipw.doubly_robust import AIPWAllocation
from dprct.estimate.log_odds import logit_of
from dprct.privacy.aggregates import _open
from dprct.privacy.budget import Budget
from dprct.queries.doubly_robust import STEPS, Fits, FoldMoments, Scores
from dprct.queries.propensity import Held
from dprct.queries.sums import GRID
from dprct.queries.weighting import HALF, Records

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tests.estimate.ipw.conftest import pd

CONSTANT = math.sqrt(0.5)


def record(z: list[float], t: int, y: float) -> Records:
    """One record; z without its constant."""
    Z = np.array([[*z, CONSTANT]])
    return Records(np.array([round((y + 1) * HALF)], np.int32), np.array([bool(t)]), Held(Z), {})


def moved(layout: FoldMoments, one: Records, other: Records) -> int:
    """Square of what the moments move by."""
    first, second = (layout._added(each) for each in (one, other))
    return int(sum((int(a) - int(b)) ** 2 for a, b in zip(first, second, strict=True)))


def worst(d: int, rng: np.random.Generator, tries: int) -> float:
    """The largest move found over what is claimed: directions of corners, all t and y."""
    layout, found = FoldMoments(d), 0.0
    for _ in range(tries):
        pair = []
        for _ in range(2):
            z = rng.normal(size=d - 1)
            if rng.random() < 0.5:
                z = np.eye(d - 1)[rng.integers(d - 1)]
            z = z / np.linalg.norm(z) * CONSTANT * rng.choice([-1, 1])
            pair.append((z.tolist(), int(rng.integers(2)), float(rng.choice([-1, 1]))))
        found = max(found, moved(layout, record(*pair[0]), record(*pair[1])) / layout.l2_squared)
    return found


@pytest.mark.parametrize("d", [2, 3, 5])
def test_no_pair_of_records_moves_the_moments_by_more(d: int) -> None:
    found = worst(d, np.random.default_rng(d), 400)
    assert 0.7 < found <= 1


def test_a_smaller_bound_would_be_found_out() -> None:
    """Without the diagonal (9/4 M^4) the bound is false where z moves between its axes."""
    layout = FoldMoments(3)
    pairs = [
        record([a, b], t, y)
        for (a, b), t, y in itertools.product(
            [(CONSTANT, 0.0), (0.0, CONSTANT), (-CONSTANT, 0.0)], (0, 1), (-1.0, 1.0)
        )
    ]
    most = max(moved(layout, one, other) for one in pairs for other in pairs)
    assert most <= layout.l2_squared
    assert most > 0.8 * layout.l2_squared


def test_moments_are_those_of_numpy() -> None:
    rng = np.random.default_rng(3)
    n, d = 500, 3
    x = rng.uniform(-0.5, 0.5, (n, d - 1))
    Z, t = np.column_stack([x, np.full(n, CONSTANT)]), rng.random(n) < 0.4
    steps = rng.integers(0, 2 * HALF, n).astype(np.int32)
    layout = FoldMoments(d)
    sealed = layout.sealed([Records(steps, t, Held(Z), {})] * 2)
    values = np.array([float(v) for v in _open(sealed)]) / STEPS**2
    v = np.column_stack([Z, t - 0.5, (steps / HALF - 1) / 2])
    for matrix in layout.matrices(values):
        np.testing.assert_allclose(matrix, v.T @ v, atol=n * 2e-4)


FITS = [
    Fits(np.array([0.3, 0.1]), np.array([0.5, -0.2]), 0.4),
    Fits(np.array([1e9, -1e9]), np.array([1e300, 1.0]), -2.0),
    Fits(np.array([np.nan, np.inf]), np.array([np.inf, np.nan]), np.nan),
]


@pytest.mark.parametrize("fits", FITS)
def test_a_record_moves_the_scores_by_their_range_whatever_the_fits(fits: Fits) -> None:
    def sums(t: int, y: float, z: float) -> tuple[int, int]:
        scores = Scores([(record([z], t, y), fits)], 0.1, 3.0)
        with np.errstate(invalid="ignore"):
            return _open(scores.total())[0], _open(scores.squares())[0]

    found = [sums(t, y, z) for t in (0, 1) for y in (-1.0, 0.2, 1.0) for z in (-0.7, 0.0, 0.7)]
    for part in zip(*found, strict=True):
        assert max(part) - min(part) <= GRID


def test_the_score_is_that_of_the_formula() -> None:
    fits = Fits(np.array([0.5, 0.2]), np.array([0.3, 0.1]), 0.4)
    total = 0.0
    rows = [([0.4], 1, 0.5), ([-0.6], 0, -0.3), ([0.1], 1, -0.9)]
    for (z,), t, y in rows:
        e = 1 / (1 + math.exp(-(0.5 * z + 0.2 * CONSTANT)))
        m0 = 0.3 * z + 0.1 * CONSTANT
        m1 = m0 + 0.4
        total += m1 - m0 + (y - m1) / e * t - (y - m0) / (1 - e) * (1 - t)
    found = sum(_open(Scores([(record(*row), fits)], 0.1, 9.0).total())[0] for row in rows)
    assert found / HALF * 9 == pytest.approx(total, abs=1e-4)


def made(
    n: int, seed: int, fit: Callable[[Any], Any], odds: Callable[[Any], Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """n people, whose treatment has an effect of .2."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    t = (rng.random(n) < 1 / (1 + np.exp(-odds(X)))).astype(float)
    return X, t, 0.2 * t + fit(X) + rng.uniform(-0.3, 0.3, n)


def effect(X: Any, t: Any, y: Any, **options: Any) -> Any:
    model = IPW.from_arrays(X, t, y, bounds=(-2, 2), x_bounds=(-1, 1), estimator="aipw", **options)
    return model.fit(20, 2e-5, rng=np.random.default_rng(1))


@pytest.mark.parametrize(
    ("fit", "odds"),
    [
        # neither is linear, but one of the two models is right
        (lambda x: 0.6 * x[:, 0], lambda x: 2 * (x[:, 0] > 0) - 1),
        (lambda x: 0.6 * np.abs(x[:, 0]) + 0.4 * x[:, 1], lambda x: 0.8 * x[:, 1]),
    ],
)
def test_one_right_model_is_enough(fit: Any, odds: Any) -> None:
    found = effect(*made(40_000, 2, fit, odds))
    assert abs(found.params["ATE"] - 0.2) < 5 * found.bse["ATE"]
    assert found.bse["ATE"] < 0.01  # the plain difference is off by .3 in the first


def test_its_error_without_noise_is_that_of_scores() -> None:
    X, t, y = made(20_000, 4, lambda x: 0.6 * x[:, 0], lambda x: 0.8 * x[:, 0])
    found = effect(X, t, y)
    slopes, *_ = np.linalg.lstsq(np.column_stack([np.ones(len(t)), X, t]), y, rcond=None)
    e = 1 / (1 + np.exp(-0.8 * X[:, 0]))
    m0 = slopes[0] + X @ slopes[1:3]
    psi = slopes[3] + t * (y - m0 - slopes[3]) / e - (1 - t) * (y - m0) / (1 - e)
    # the released variance is raised by what its noise may have taken from it
    assert 1 < found.bse["ATE"] / (psi.std() / math.sqrt(len(t))) < 1.3
    assert found.params["ATE"] == pytest.approx(psi.mean(), abs=0.3 * found.bse["ATE"])
    assert "doubly robust" in found.title


@pytest.mark.parametrize(
    ("name", "value"),
    [("estimand", "att"), ("noise", "gaussian"), ("lam", 0.1), ("split", 0.3), ("hajek", True),
     ("balance", ["age"]), ("overlap", True), ("errors", "conditional"),
     ("neighbors", "replace-one-design-public")],
)  # fmt: skip
def test_options_of_weighting_are_refused(
    study: Callable[..., pd.DataFrame], schema: Any, name: str, value: Any
) -> None:
    given = {"treatment": "treat", "covariates": ["age"], "outcome": "earnings", name: value}
    with pytest.raises(ParameterError, match=rf"{name}=.*estimator='ipw'|neighbors=.*ATT"):
        IPW(study(), schema, estimator="aipw", **given)


def test_models_that_would_be_noise_are_refused_before_a_charge(
    study: Callable[..., pd.DataFrame], schema: Any
) -> None:
    model = IPW(
        study(), schema, treatment="treat", covariates=["age", "educ", "city"],
        outcome="earnings", estimator="aipw",
    )  # fmt: skip
    for act in (model.plan, model.fit):
        with pytest.raises(ParameterError, match="both models are noise"):
            act(0.2, 1e-6)


def test_the_plan_of_weighting_names_what_the_doubly_robust_error_would_be(
    study: Callable[..., pd.DataFrame], schema: Any
) -> None:
    given = {"treatment": "treat", "covariates": ["age"], "outcome": "earnings"}
    weighted = str(IPW(study(8000), schema, estimator="ipw", **given).plan(2, 1e-6))
    robust = IPW(study(8000), schema, estimator="aipw", **given).plan(2, 1e-6)
    expected = robust.value("std_error", outcome="earnings", term="treat")
    assert f"estimator='aipw' would have a standard error of about {expected:.3g}" in weighted


def test_it_is_the_default_where_nothing_of_weighting_is_asked_for(
    study: Callable[..., pd.DataFrame], schema: Any
) -> None:
    given = {"treatment": "treat", "covariates": ["age"], "outcome": "earnings"}
    budget = Budget(2, 1e-6)

    def chosen(n: int, **options: Any) -> bool:
        model = IPW(study(n), schema, **given, **options)
        return isinstance(model.spec.allocation(model.facts, budget), AIPWAllocation)

    assert chosen(8000)
    assert chosen(8000, budget_shares={"fits": 0.5, "effect": 0.4, "variance": 0.1})
    for weighting in (
        {"estimand": "att"},
        {"balance": ["age"]},
        {"estimator": "ipw"},
        {"budget_shares": {"effect": 0.6, "variance": 0.2, "gradient": 0.2}},
    ):
        assert not chosen(8000, **weighting)
    assert not chosen(100)
    few = IPW(study(100), schema, **given).plan(2, 1e-6)
    assert "would be noise, and weights are used instead" in str(few)


def test_the_parts_cost_what_the_fit_claims(
    study: Callable[..., pd.DataFrame], schema: Any
) -> None:
    model = IPW(
        study(), schema, treatment="treat", covariates=["age"], outcome="earnings",
        estimator="aipw",
    )  # fmt: skip
    allocation = model.spec.allocation(model.facts, Budget(2, 1e-6))
    assert isinstance(allocation, AIPWAllocation)
    assert allocation.cost().budget == Budget(2, 1e-6)
    assert sum(part.cost().budget.epsilon for part in allocation.parts.values()) == 2


def test_log_odds_of_normal_covariates_are_found_from_least_squares() -> None:
    rng = np.random.default_rng(5)
    for m, s in ((0.0, 0.5), (-1.0, 1.0), (1.5, 2.0)):
        odds = m + s * rng.normal(size=400_000)
        p = 1 / (1 + np.exp(-odds))
        slope = float(np.cov(odds, p)[0, 1] / np.var(odds))
        found, curvature = logit_of(float(p.mean()), (slope * s) ** 2)
        assert found == pytest.approx(m, abs=0.02)
        assert slope / curvature == pytest.approx(1, abs=0.02)
