from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dprct.assignment import Block, Complete, Factorial, Simple
from dprct.errors import ParameterError
from dprct.estimate.ate.results import arm_contrasts, contrasts_of, parse_contrast

ARMS = ("control", "a", "b", "cash-only")


def weights(contrast: str | dict[str, float]) -> list[float]:
    return [float(w) for w in parse_contrast(contrast, ARMS).weights]


def test_contrasts_are_read_as_they_are_written() -> None:
    assert weights("a - b") == [0, 1, -1, 0]
    assert weights(" -b+a") == [0, 1, -1, 0]
    assert weights("0.5*a + .5 * b - control") == [-1, 0.5, 0.5, 0]
    assert weights("`cash-only` - a") == [0, -1, 0, 1]
    assert weights({"cash-only": 2, "b": -2}) == [0, 0, -2, 2]
    assert parse_contrast({"a": 1, "b": -0.5, "control": -0.5}, ARMS).name == (
        "a - 0.5*b - 0.5*control"
    )


@pytest.mark.parametrize(
    ("contrast", "words"),
    [
        ("a - c", "'c', which is no arm"),
        ("a + b", "do not sum to zero"),
        ("a - a", "all zero"),
        ("a b", "not read at character"),
        ("a - ", "not read at character"),
        ("", "names nothing"),
        ({"a": True, "b": -1}, "finite numbers"),
        ({"a": float("nan"), "b": -1}, "finite numbers"),
        (3, "give 'a - b'"),
    ],
)
def test_what_is_no_contrast_is_refused(contrast: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        parse_contrast(contrast, ARMS)


def named(design: Any, effects: Any, control: str = "control") -> dict[str, dict[str, float]]:
    """Weights by name of contrast and arm; the control group first as in an experiment."""
    names = [str(name) for name in design.groups.names]
    order = [names.index(control), *(i for i, n in enumerate(names) if n != control)]
    arms = [names[i] for i in order]
    return {
        c.name: dict(zip(arms, map(float, c.weights), strict=True))
        for c in contrasts_of(effects, design, order, arms)
    }


def test_main_effects_average_over_the_other_factors() -> None:
    design = Factorial([Block("cash", block="b"), Simple("therapy")])
    found = named(design, "factorial")
    assert list(found) == ["cash", "therapy", "cash:therapy"]
    assert found["cash"] == {"control": -0.5, "cash": 0.5, "therapy": -0.5, "cash+therapy": 0.5}
    assert found["cash:therapy"] == {"control": 1, "cash": -1, "therapy": -1, "cash+therapy": 1}
    assert list(named(design, "main")) == ["cash", "therapy"]
    assert list(named(design, "arms")) == ["cash+therapy", "cash", "therapy"]


def test_effects_are_those_of_a_regression_on_effect_codes() -> None:
    design = Factorial([Complete(["a1", "a2"]), Simple([0, 1], arm="z"), Simple("u")])
    names = [str(name) for name in design.groups.names]
    control = names[design.combinations.index((2, 0, 1))]
    found = named(design, "factorial", control)
    assert list(found)[:4] == ["a1", "a2", "z", "u"]
    assert len(found) == 2 * 2 * 3 - 1
    arms = list(found["u"])
    means = dict(zip(arms, np.random.default_rng(1).normal(size=12), strict=True))
    table = np.empty((3, 2, 2))
    for place, name in zip(design.combinations, names, strict=True):
        table[place] = means[name]
    got = {name: sum(w * means[arm] for arm, w in of.items()) for name, of in found.items()}
    assert got["a2"] == pytest.approx(table[1].mean() - table[2].mean())
    assert got["z"] == pytest.approx(table[:, 1].mean() - table[:, 0].mean())
    a1_by_u = (table[0, :, 0] - table[0, :, 1]) - (table[2, :, 0] - table[2, :, 1])
    assert got["a1:u"] == pytest.approx(a1_by_u.mean())


def test_main_effects_need_factors() -> None:
    with pytest.raises(ParameterError, match=r"dprct.Factorial"):
        contrasts_of("main", Complete("t"), (1, 0), ("control", "t"))
    with pytest.raises(ParameterError, match="allowed: arms, main, factorial"):
        contrasts_of("both", Complete("t"), (1, 0), ("control", "t"))  # type: ignore[arg-type]
    (only,) = arm_contrasts(("control", "t"))
    assert only.weights == (Fraction(-1), Fraction(1))
