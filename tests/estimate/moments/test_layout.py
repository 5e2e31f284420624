"""Where the noise goes: the weights are the best ones, and nobody legal leaves the ball."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from dprct import Column, Schema
from dprct.errors import ParameterError
from dprct.estimate.moments.layout import (
    CONSTANTS,
    GUESS,
    VIF,
    _bias,
    laid_out,
    layout_of,
    one_hot,
    places_of,
    radius_of,
    with_outcomes,
)
from dprct.estimate.moments.variables import listed_terms, variable_of
from dprct.queries.group_moments import STEPS

NEVER: Any = {"missing": ()}
SCHEMA = Schema(
    (
        *(Column(f"x{j}", bounds=(-4.0, 4.0), **NEVER) for j in range(10)),
        Column("pay", bounds=(-4.0, 4.0), **NEVER),
        Column("odd", bounds=(0.1, 0.7), **NEVER),
        Column("boss", "byte", levels=(0.0, 1.0), **NEVER),
        Column("zone", "byte", levels=tuple(map(float, range(9))), **NEVER),
    )
)
COVARIATES = [f"x{j}" for j in range(10)]


def places(*terms: str, sd: dict[str, float] | None = None) -> Any:
    found = listed_terms(terms, SCHEMA)
    return places_of([variable_of(t.name, t.atoms, SCHEMA, {}) for t in found], sd or {}, {})


def laid(given: Any, radius: Any = None, n: int = 10_000, mu: float = 0.5) -> Any:
    of: Any = dict(outcomes=("pay",), treatments=("boss",), grouped=False, n=n, mu=mu)
    return laid_out(with_outcomes(given, ["pay"]), radius, "regressions", **of)


def test_the_weights_are_the_best_ones() -> None:
    """Against a search over the weight of the outcome at the radius and treatment that it chose."""
    given = places(*COVARIATES, "pay", "boss", sd=dict.fromkeys([*COVARIATES, "pay"], 1.0))
    chosen, inner = laid(given)
    weight = {place.name: place.weight for place in chosen}

    def noise(w: float, lam: float) -> float:
        outer = inner**2 + (w * 4) ** 2 + lam**2
        return outer**2 * (1 + GUESS * w**2) / w**2 * (1 / lam**2 + VIF)

    least = min(noise(w, x) for w in np.linspace(0.2, 4, 60) for x in np.linspace(0.8, 5, 60))
    assert noise(weight["pay"], weight["boss"]) <= least * 1.02
    assert all(weight[name] == 1 for name in COVARIATES)


def test_the_radius_grows_with_n_until_it_is_the_box() -> None:
    """The bias of projected slopes does not fall with n, as noise does."""
    given = places(*COVARIATES, "pay", "boss", sd=dict.fromkeys([*COVARIATES, "pay"], 1.0))
    radii = [laid(given, n=n)[1] for n in (1000, 10_000, 100_000, 10**6, 10**8)]
    assert radii == sorted(radii)
    assert radii[0] == pytest.approx(1.5 * math.sqrt(10))
    assert radii[0] < radii[-1] < radius_of(given[:10], "box")


def test_the_factor_of_projected_slopes_is_that_of_least_squares() -> None:
    """Its formula against 4e5 normal rows; the error of the simulated factor is 2e-3."""
    x = np.random.default_rng(1).normal(size=(400_000, 3))
    for radius in (1.0, 2.5):
        length = np.linalg.norm(x, axis=1)
        inside = x * np.minimum(1, radius / length)[:, None]
        simulated = (inside * x).sum() / (inside * inside).sum()
        factor = 1 + math.sqrt(3 * float(_bias(3, np.array([radius]))[0]))
        assert factor == pytest.approx(simulated, abs=5e-3)


def test_outcomes_and_columns_of_two_values_are_in_no_ball() -> None:
    given = places("pay", "boss", "x0", sd={"pay": 0.3, "boss": 0.1, "x0": 1.0})
    pay, boss, x0 = with_outcomes(given, ["pay"])
    assert pay.exempt
    assert boss.exempt
    assert not x0.exempt
    assert (boss.scale, boss.reach) == (0.5, 1.0)  # half its range, whatever is declared
    assert (pay.centre, pay.scale, pay.reach) == (0.0, 0.3, pytest.approx(4 / 0.3))
    assert places("x1")[0].scale == 2.0  # a quarter of the range


def test_the_constants_have_the_noise_that_is_said() -> None:
    given = places("x0", "pay", sd={"x0": 1.0, "pay": 1.0})
    noise = {use: layout_of(given, radius_of(given, "box"), use, count=False) for use in CONSTANTS}
    least = {}
    for use, layout in noise.items():
        sigma = math.sqrt(layout.grid.l2_squared)
        least[use] = np.array(layout.noise(sigma)) / [layout.radius, layout.radius**2]
    assert least["effects"][0] == pytest.approx(2, rel=1e-4)
    assert least["mixed"][0] == pytest.approx(2 * 1.25, rel=1e-4)
    assert least["mixed"][1] == pytest.approx(math.sqrt(2) * 1.25, rel=1e-4)
    assert least["regressions"][1] == pytest.approx(math.sqrt(2) * 1.1, rel=1e-4)


def test_a_radius_is_in_scales_and_no_farther_than_the_box() -> None:
    both = places("x0", "pay", sd={"x0": 1.0, "pay": 1.0})
    assert radius_of(both, 3) == 3
    assert radius_of(both, 300) == radius_of(both, "box") == pytest.approx(math.hypot(4, 4))


@pytest.mark.parametrize(
    ("scale", "radius"), [(1.0, 1e-300), (1e-60, 1e-150), (1e-60, 5e-324), (1e60, 1e150)]
)
def test_scales_that_no_double_holds_are_refused_where_they_are_made(
    scale: float, radius: float
) -> None:
    """At a scale that overflows, what a fit ends in would tell values apart."""
    (place,) = places("x0")
    with pytest.raises(ParameterError, match="whose steps no double holds"):
        layout_of([replace(place, scale=scale)], radius, "mixed", count=False)


@pytest.mark.parametrize("terms", [("odd", "pay", "boss"), ("odd", "C(zone)", "pay:boss", "x1")])
def test_the_box_moves_no_legal_row_whatever_rounding_does(terms: tuple[str, ...]) -> None:
    placed = one_hot(places(*terms))
    layout = layout_of(placed, radius_of(placed, "box"), "mixed", count=True)
    assert layout.grid.projects_nobody
    assert sum(column.reach**2 for column in layout.grid.columns if not column.exempt) <= (
        layout.grid.room
    )
    for corner in product(*(place.variable.bounds for place in layout.places)):
        levels = [v for v, place in zip(corner, layout.places, strict=True) if place.centre == 0
                  and place.exempt]  # fmt: skip
        if sum(levels) > 1:
            continue  # a row has one level of a column
        steps = [c.steps_at(x) for c, x in zip(layout.grid.columns, corner, strict=True)]
        assert sum(k * k for k in steps) <= STEPS**2


def test_levels_of_a_long_factor_share_their_room() -> None:
    given = places("C(zone)")
    apart, shared = (layout_of(one, 0.0, "mixed", count=True) for one in (given, one_hot(given)))
    assert apart.radius == pytest.approx(math.sqrt(8), rel=1e-2)
    assert shared.radius == pytest.approx(2, rel=1e-2)


def test_a_product_has_the_scale_of_its_parts() -> None:
    given = places("x0:x1", "I(x0 ** 2)", "x0:boss", sd={"x0": 1.0, "x1": 2.0})
    scales = [(place.centre, place.scale) for place in given]
    assert scales[0] == (0, pytest.approx(2.0))
    assert scales[1] == (pytest.approx(1.0), pytest.approx(math.sqrt(2)))
    assert scales[2] == (0, pytest.approx(math.sqrt(0.5)))
    assert not places("x0:x2", sd={"x0": 1.0})[0].declared
    assert replace(given[0], weight=2.0).reach == pytest.approx(16.0)
