from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dprct.errors import ParameterError, SchemaError
from dprct.estimate.effects import (
    ALPHAS,
    NoisyEffect,
    NoisyVariance,
    levels_of,
    normal_quantile,
    with_bounds,
)
from dprct.estimate.noise_law import correction, quantile
from dprct.schema import Column


def effect(value: float, variance: float = 0.5) -> NoisyEffect:
    return NoisyEffect(value, (1.0,), (NoisyVariance(variance, 1.6, 1.6),))


@pytest.mark.parametrize("alpha", [0.1, 0.05, 0.01])
def test_the_interval_uses_the_correction_of_its_level(alpha: float) -> None:
    raised = 0.5 + correction(1.6, alpha) * 1.6
    assert effect(0).half_width(alpha) == pytest.approx(quantile(alpha, raised, (1.0,)))
    assert effect(0, -100.0).half_width(alpha) == pytest.approx(-np.log(alpha))


def test_the_standard_error_serves_every_declared_level() -> None:
    one = effect(0)
    assert one.standard_error([0.05]) == pytest.approx(one.half_width(0.05) / 1.959964)
    both = one.standard_error([0.05, 0.01])
    assert both == pytest.approx(one.half_width(0.01) / 2.575829)
    assert both > one.standard_error([0.05])


@pytest.mark.parametrize("alpha", [a for a in ALPHAS if 1e-5 < a < 0.6])
def test_the_p_value_inverts_the_interval(alpha: float) -> None:
    edge = effect(0).half_width(alpha)
    assert effect(0.999 * edge).p_value([]) >= alpha
    assert effect(-1.1 * edge).p_value([]) < alpha * 1.0001


def test_p_values_fall_with_the_effect_and_stop_at_the_smallest_level() -> None:
    values = [effect(value).p_value([0.05]) for value in np.linspace(0, 40, 81)]
    assert (np.diff(values) <= 0).all()
    assert values[0] == 1.0
    assert values[-1] == ALPHAS[0]


def test_the_normal_quantile() -> None:
    assert normal_quantile(0.05) == pytest.approx(1.959963985, abs=1e-8)


def test_bounds_come_from_levels_where_they_are_not_declared() -> None:
    found = with_bounds(Column("y", "byte", levels=(2.0, 0.0, 1.0), missing=()))
    assert found.bounds == (0.0, 2.0)
    with pytest.raises(SchemaError, match="needs bounds"):
        with_bounds(Column("y", missing=()))
    with pytest.raises(SchemaError, match="missing policy"):
        with_bounds(Column("y", bounds=(0, 1)))


@pytest.mark.parametrize("name", ["income_std", "y"])
def test_an_outcome_built_from_other_people_needs_declared_constants(name: str) -> None:
    built: dict[str, Any] = {} if name == "income_std" else {"built_from": "cohort"}
    with pytest.raises(SchemaError, match=r"standardised|other people's values"):
        with_bounds(Column(name, bounds=(-3, 3), missing=(), **built))
    public = Column(name, bounds=(-3, 3), missing=(), built_from="cohort", constants_public=True)
    assert with_bounds(public).bounds == (-3, 3)


def test_levels_are_those_that_can_be_kept() -> None:
    assert levels_of([0.05, 0.01]) == (0.05, 0.01)
    for levels in ([], [0.6], [0.0], 0.05, ["x"]):
        with pytest.raises(ParameterError, match="alphas="):
            levels_of(levels)  # type: ignore[arg-type]
