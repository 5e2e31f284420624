"""Whatever epsilon, delta and bounds: a fit works, or it is refused before anything is charged.

A refusal is one sentence of ours, the plan says the same, and no overflow, division by zero,
warning of NumPy or error of a sampler gets out (warnings are errors in these tests).
"""

from __future__ import annotations

import contextlib
import warnings
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct import Accountant, Budget, Column, Schema
from dprct.errors import DprctError, DprctWarning, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

BUDGETS = (
    (1e-12, 0), (1e6, 0),
    (1e-12, 0.5), (1e-9, 1e-15), (1e-6, 1e-300), (1e6, 1e-300), (1e6, 0.5),
)  # fmt: skip

NEVER: dict[str, Any] = {"missing": "never"}
CONFIRM = {"confirm": True}
Bounds = tuple[float, float]


def checked(
    model: Any, epsilon: float, delta: float, facts: dict[str, str] | None = None, **options: Any
) -> str:
    """Plan and fit at a budget; return the refusal, or nothing where both work.

    ``facts`` are those of the model's accountants, if they are known; ``options`` those of ``fit``.
    """
    accountant, said = Accountant(1e7, 0.999, **facts or facts_of(model)), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DprctWarning)
        for deed in (
            lambda: str(model.plan(epsilon, delta)),
            lambda: model.fit(epsilon, delta, accountant=accountant, **options).summary(),
        ):
            try:
                deed()
                said.append("")
            except DprctError as error:
                said.append(str(error))
    planned, fitted = said
    assert planned == fitted
    assert len(accountant.ledger) == (not fitted)
    assert "\n" not in fitted
    return fitted


def made(make: Callable[[], Any]) -> Any:
    """The model, or None where the constructor refuses; anything but a refusal of ours gets out."""
    with contextlib.suppress(DprctError):
        return make()
    return None


def facts_of(model: Any) -> dict[str, str]:
    """Facts of an accountant that takes what a fit costs, if any budget pays for it."""
    for ordinary in (Budget(1), Budget(1, 1e-6)):
        with contextlib.suppress(ParameterError):
            likely = model.guarantee(ordinary)
            return {"relation": likely.relation, "unit": str(likely.unit)}
    return {}


def test_a_budget_is_drawn_or_refused_before_the_charge(strict: Any) -> None:
    model = strict.make(strict.make_table())
    facts = facts_of(model)
    for epsilon, delta in BUDGETS:
        checked(model, epsilon, delta, facts, **strict.options)


def declared(y: Bounds, w: Bounds, *modelled: str) -> Schema:
    """A schema with these bounds; every column but those named in ``modelled`` is withheld."""
    types = {"y": "double", "w": "double", "t": "byte", "block": "byte"}
    schema = Schema(tuple(Column(name, kind) for name, kind in types.items())).declare(
        y={"bounds": y, "bins": 4, **NEVER},
        w={"bounds": w, "bins": 4, **NEVER},
        t={"levels": [0, 1], **NEVER},
        block={"levels": [1, 2], **NEVER},
    )
    if not modelled:
        return schema
    return schema.declare(**{name: {"fate": "modelled"} for name in modelled}).declare_rest(
        "withheld"
    )


def rows(y: Bounds, w: Bounds) -> pd.DataFrame:
    """An experiment of 40 people whose values fill the bounds, ends included."""
    share = np.linspace(0, 1, 40)
    return pd.DataFrame(
        {
            "y": np.clip(y[0] * (1 - share) + y[1] * share, *y),
            "w": np.clip(w[0] * share + w[1] * (1 - share), *w),
            "t": np.tile([0.0, 1.0], 20),
            "block": np.repeat([1.0, 2.0], 20),
        }
    )


def _effect(y: Bounds, w: Bounds, **options: Any) -> Any:
    return dprct.PrivateATE(rows(y, w), declared(y, w), outcome="y", treatment="t", **options)


def _calibrated(y: Bounds, w: Bounds, covariates: Any) -> Any:
    schema = declared(y, w, "y", "w").declare(t={"fate": "public"})
    return dprct.Calibrated.from_formula(
        "y ~ t + w", rows(y, w), schema, treatment="t", covariate_release=covariates
    )


def _cate(y: Bounds, w: Bounds, **options: Any) -> Any:
    return dprct.CATE(
        rows(y, w),
        declared(y, w),
        outcome="y",
        features=["w", "block"],
        treatment="t",
        **options,
    )


def _weighted(y: Bounds, w: Bounds, **options: Any) -> Any:
    return dprct.IPW(
        rows(y, w),
        declared(y, w),
        outcome="y",
        treatment="t",
        covariates=["w"],
        **options,
    )


def _control(y: Bounds, _: Bounds, **options: Any) -> Any:
    share = np.random.default_rng(1).uniform(0, 1, (25, 10))
    paths = np.clip(y[0] * share + y[1] * (1 - share), *y)
    return dprct.SyntheticControl.from_arrays(paths[:24], paths[24], 7, y, **options)


MODELS: dict[str, tuple[Callable[[Bounds, Bounds], Any], dict[str, Any], tuple[float, ...]]] = {
    "MVHistogram": (
        lambda y, w: dprct.MVHistogram(rows(y, w), declared(y, w, "y", "w", "t")),
        CONFIRM, (0, 1e-9),
    ),
    "Marginals": (
        lambda y, w: dprct.Marginals(rows(y, w), declared(y, w, "y", "w", "t")),
        CONFIRM, (0, 1e-9),
    ),
    "PrivateATE": (_effect, {}, (0,)),
    "PrivateATE, blocks": (
        lambda y, w: _effect(y, w, assignment=dprct.Block("t", block="block")), {}, (0,),
    ),
    "PrivateATE, treatment private": (
        lambda y, w: _effect(y, w, assignment=dprct.Simple("t"), neighbors="replace-one"), {}, (0,),
    ),
    "PrivateATE, jointly": (_effect, {}, (1e-9,)),
    "PrivateATE, jointly, treatment private": (
        lambda y, w: _effect(y, w, assignment=dprct.Simple("t"), neighbors="replace-one"),
        {}, (1e-9,),
    ),
    "Calibrated, histogram": (lambda y, w: _calibrated(y, w, "histogram"), CONFIRM, (0, 1e-9)),
    "Calibrated, marginals": (lambda y, w: _calibrated(y, w, "marginals"), CONFIRM, (0, 1e-9)),
    "PrivateMoments": (
        lambda y, w: dprct.PrivateMoments(rows(y, w), declared(y, w), formulas=["y ~ t + w"]),
        {}, (1e-9,),
    ),
    "PrivateMoments, groups": (
        lambda y, w: dprct.PrivateMoments(
            rows(y, w), declared(y, w), formulas=["y ~ t + w"], assignment=dprct.Simple("t"),
            neighbors="replace-one-design-public",
        ),
        {}, (1e-9,),
    ),
    "PrivateAdditive": (
        lambda y, w: dprct.PrivateAdditive.from_formula(
            "y ~ w*C(block)", rows(y, w), declared(y, w), subgroups=["t"]
        ),
        {}, (0, 1e-9),
    ),
    "CATE": (lambda y, w: _cate(y, w, assignment=dprct.Simple("t")), {}, (0, 1e-9)),
    "CATE, R-learner": (lambda y, w: _cate(y, w, learner="r"), {}, (0, 1e-9)),
    "CATE, S-learner": (lambda y, w: _cate(y, w, learner="s", propensity=0.5), {}, (0, 1e-9)),
    "IPW": (lambda y, w: _weighted(y, w, balance=["w"], overlap=True), {}, (1e-9,)),
    "IPW, ATT, Hajek": (lambda y, w: _weighted(y, w, estimand="att", hajek=True), {}, (1e-9,)),
    "IPW, Gaussian, conditional": (
        lambda y, w: _weighted(y, w, noise="gaussian", errors="conditional", hajek=True), {},
        (1e-9,),
    ),
    **{
        f"SyntheticControl, {noise}{', protected' * protect}": (
            lambda y, w, noise=noise, protect=protect: _control(
                y, w, noise=noise, protect_treated=protect, donor_weights="auto", pre_fit=True
            ),
            {}, (0,) if noise == "laplace" else (1e-9,),
        )
        for noise in ("laplace", "gaussian", "concentrated")
        for protect in (False, True)
    },
}  # fmt: skip

UNIT = (0.0, 1.0)
BOUNDS: dict[str, tuple[Bounds, Bounds]] = {
    "close": ((0.0, 1e-60), UNIT),
    "far": ((-1e60, 1e60), UNIT),
    "wide of narrow": ((-1e60, 1e60), (0.0, 1e-60)),
    "narrow of wide": ((0.0, 1e-60), (-1e60, 1e60)),
    "closer": ((1e-300, 3e-300), UNIT),
    "farther": ((-1e154, 1e154), UNIT),
    "off": ((1e300, 1.0000001e300), UNIT),
    "closer covariate": (UNIT, (0.0, 1e-300)),
    "farther covariate": (UNIT, (0.0, 1e300)),
}


@pytest.mark.long
@pytest.mark.parametrize("words", BOUNDS)
@pytest.mark.parametrize("name", MODELS)
def test_bounds_are_taken_or_refused_before_the_charge(name: str, words: str) -> None:
    make, options, deltas = MODELS[name]
    y, w = BOUNDS[words]
    model = made(lambda: make(y, w))
    if model is None:
        assert words not in {"close", "far"}
        return
    for delta in deltas:
        checked(model, 1e-6, delta, **options)


def test_every_strict_method_is_tried_with_extreme_bounds(registered_strict: set[str]) -> None:
    assert registered_strict == {name.split(",")[0] for name in MODELS}


@pytest.mark.parametrize(
    ("make", "delta"),
    [
        (
            lambda tiny: _control(
                UNIT, UNIT, pre_fit=True,
                budget_shares={"donor_weights": tiny, "prediction": 1 - 2 * tiny, "pre_fit": tiny},
            ),
            0,
        ),
        (
            lambda tiny: _control(
                UNIT, UNIT, noise="concentrated",
                budget_shares={"donor_weights": tiny, "prediction": 1 - tiny},
            ),
            1e-300,
        ),
        (
            lambda tiny: _weighted(
                UNIT, UNIT, errors="conditional",
                budget_shares={"effect": 1 - tiny, "variance": tiny},
            ),
            1e-6,
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("digits", [12, 40, 320])
def test_a_share_too_small_to_be_drawn_is_refused_before_the_charge(
    make: Callable[[Fraction], Any], delta: float, digits: int
) -> None:
    assert checked(make(Fraction(1, 10**digits)), 1e-3, delta)


@pytest.mark.parametrize(
    "make",
    [
        lambda number: _cate(UNIT, UNIT, clip=number),
        lambda number: dprct.PrivateAdditive(
            rows(UNIT, UNIT), declared(UNIT, UNIT), outcome="y", features=["w"], clip=number
        ),
        lambda number: _weighted(UNIT, UNIT, lam=number),
        lambda number: _control(UNIT, UNIT, noise="gaussian", lam=number),
    ],
)
@pytest.mark.parametrize("number", [1e-300, 1e-60, 1e12, 1e60, 1e154, 1e300])
def test_a_clip_or_penalty_is_taken_or_refused_before_the_charge(
    make: Callable[[float], Any], number: float
) -> None:
    model = made(lambda: make(number))
    if model is None:
        assert number != 1e12
        return
    assert (number == 1e12) <= (not checked(model, 1.0, 1e-6))


@pytest.mark.parametrize(
    ("noise", "delta"), [("laplace", 0), ("gaussian", 1e-12), ("concentrated", 1e-300)]
)
def test_a_control_of_a_billionth_of_epsilon_is_refused_in_one_sentence(
    noise: str, delta: float
) -> None:
    refused = checked(_control(UNIT, UNIT, noise=noise, pre_fit=True), 1e-10, delta)
    assert "asks for a noise scale above 2^53 steps of the grid" in refused
    assert "give a larger epsilon" in refused
