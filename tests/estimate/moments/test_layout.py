"""Where the noise goes: the weights are the best ones, and nobody legal leaves the ball."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from dprct import Column, Schema
from dprct.estimate.moments.layout import (
    CONSTANTS,
    GUESS,
    layout_of,
    one_hot,
    places_of,
    radius_of,
    weighted,
)
from dprct.estimate.moments.variables import listed_terms, variable_of
from dprct.queries.ball import STEPS

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


def test_the_weight_of_the_outcome_is_the_best_one() -> None:
    given = places(*COVARIATES, "pay", "boss", sd=dict.fromkeys([*COVARIATES, "pay"], 1.0))
    chosen = weighted(given, ["pay"], ["boss"])
    w = next(place.weight for place in chosen if place.variable.name == "pay")
    p = 11

    def noise(weight: float) -> float:
        return (p + weight**2) * math.sqrt(1 + GUESS * weight**2) / weight

    assert noise(w) <= min(noise(x) for x in np.linspace(0.5, 6, 500)) * (1 + 1e-9)
    assert next(p.weight for p in chosen if p.variable.name == "boss") == 1.5


def test_the_constants_have_the_noise_that_is_said() -> None:
    given = places("x0", "pay", sd={"x0": 1.0, "pay": 1.0})
    noise = {use: layout_of(given, None, use, count=False) for use in CONSTANTS}
    least = {}
    for use, layout in noise.items():
        sigma = math.sqrt(layout.grid.l2_squared)
        least[use] = np.array(layout.noise(sigma)) / [layout.radius, layout.radius**2]
    assert least["effects"][0] == pytest.approx(2, rel=1e-4)
    assert least["mixed"][0] == pytest.approx(2 * 1.25, rel=1e-4)
    assert least["mixed"][1] == pytest.approx(math.sqrt(2) * 1.25, rel=1e-4)
    assert least["regressions"][1] == pytest.approx(math.sqrt(2) * 1.1, rel=1e-4)


def test_the_radius_is_the_box_unless_every_column_has_a_scale() -> None:
    given = places("x0", "pay", sd={"x0": 1.0})
    assert radius_of(given, None) == radius_of(given, "box") == pytest.approx(math.hypot(4, 1))
    both = places("x0", "pay", sd={"x0": 1.0, "pay": 1.0})
    assert radius_of(both, None) == pytest.approx(1.5 * math.sqrt(2))
    assert radius_of(both, 3) == 3
    assert radius_of(both, 300) == radius_of(both, "box")


@pytest.mark.parametrize("terms", [("odd", "pay", "boss"), ("odd", "C(zone)", "pay:boss", "x1")])
def test_the_box_moves_no_legal_row_whatever_rounding_does(terms: tuple[str, ...]) -> None:
    layout = layout_of(one_hot(places(*terms)), "box", "mixed", count=True)
    assert layout.grid.moves_nobody
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
    apart, shared = (layout_of(one, "box", "mixed", count=True) for one in (given, one_hot(given)))
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
