"""Regressions on the rows of some arms: the identity, and what a file says of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.certificate.valid_arms import SomeArms, ValidArms
from dprct.certificate.valid_regressions import Specification, Validity
from dprct.errors import ParameterError

SIZES = ValidArms(columns=("cash", "food"), rows=((60, 40, 50), (50, 50, 50)))
VALID = Validity(
    outcomes=("meals", "work"), arms=("cash", "food"), covariates=(("age",), ()),
    rows=(150, 150), control_errors=(0.1, None), sizes=SIZES,
)  # fmt: skip


def on(outcome: str, *terms: str, among: tuple[int, ...] | None, **more: object) -> Specification:
    return replace(Specification(outcome=outcome, terms=terms, among=among), **more)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("among", [(0, 1), (0, 2, 3), (1, 3)])
def test_errors_of_any_outcome_differ_by_the_factor(
    among: tuple[int, ...], clustered: bool
) -> None:
    """Whatever the outcome is: the identity is that of least squares, not of the construction."""
    rng, counts = np.random.default_rng(5), (40, 24, 32, 20)
    arm = np.repeat(np.arange(4), counts)
    data = pd.DataFrame({f"t{k}": (arm == k) * 1.0 for k in (1, 2, 3)})
    data["y"], data["village"] = rng.exponential(1 + arm), np.arange(len(arm)) // 4
    groups = tuple(count // 4 for count in counts)
    sizes = ValidArms(
        columns=("t1", "t2", "t3"), rows=(counts,), clusters=(groups,) if clustered else ()
    )
    kind = {"cov_type": "CR1", "cluster": "village"} if clustered else {}
    every = dprct.ols("y ~ t1 + t2 + t3", data, **kind)
    rows = SomeArms(sizes.columns, among).of(data)
    assert sizes.among(data, rows) == among
    assert sizes.among(data, np.ones(len(data), bool)) is None
    named = [f"t{k}" for k in among[1:]]
    some = dprct.ols(f"y ~ {' + '.join(named)}", data[rows], **kind)
    if among[0]:
        wanted = every.params["t3"] - every.params["t1"]
        error = np.sqrt(np.array([-1, 0, 1]) @ every.cov.iloc[1:, 1:] @ np.array([-1, 0, 1]))
        assert some.params["t3"] == pytest.approx(wanted, rel=1e-12)
        assert some.bse["t3"] == pytest.approx(error * sizes.factor(among, 0), rel=1e-12)
        return
    assert some.params[named].to_numpy() == pytest.approx(every.params[named], rel=1e-12)
    wanted = every.bse[named] * sizes.factor(among, 0)
    assert some.bse[named].to_numpy() == pytest.approx(wanted, rel=1e-12)


def test_what_holds_on_the_rows_of_some_arms() -> None:
    assert VALID.reason(on("work", "cash", among=(0, 1), rows=100)) is None
    assert VALID.reason(on("work", "cash", "food", among=(0, 2), rows=100)) is None  # cash drops
    # two arms of 60 and 40 are two thirds of the rows, as they are of the columns
    assert VALID.reason(on("meals", "cash", among=(0, 1), rows=100)) is None
    few = VALID.reason(on("meals", "food", among=(0, 2), rows=110))
    assert few is not None
    assert "vce(robust) finds 0.99907 times those on all rows" in few


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (on("work", "cash", among=None, rows=150), "lacks the treatment food"),
        (on("work", "age", among=(0, 1), rows=100), "all but one of which must be in"),
        (on("work", "cash", "age", among=(0, 1), rows=100), "alone is calibrated, and not one"),
        (on("work", "cash", among=(0, 1), rows=99), "those of an arm belong together"),
        (on("work", "cash", among=(0, 1), weighted=True), "is weighted"),
        (on("work", "cash", among=(0, 1), intercept=False), "has no intercept"),
        (on("work", "cash", among=(1, 2), rows=100), "not those of other differences"),
        (on("work", "cash", among=(0, 1), cov_type="nonrobust"), "not nonrobust"),
    ],
)
def test_what_does_not(spec: Specification, said: str) -> None:
    reason = VALID.reason(spec)
    assert reason is not None
    assert said in reason


def test_a_file_that_does_not_say_sizes_supports_none() -> None:
    spec = on("work", "cash", among=(0, 1), rows=100)
    assert "lacks the treatment food" in str(replace(VALID, sizes=None).reason(spec))
    planned = replace(VALID, rows=(), sizes=ValidArms(columns=("cash", "food")))
    assert "numbers of rows in the file will say" in str(planned.reason(spec))


def test_the_constant_is_the_control_mean_of_the_same_rows() -> None:
    assert VALID.constant_error(on("meals", "cash", among=(0, 1), rows=100)) == 0.1
    assert VALID.constant_error(on("meals", "cash", among=(1, 2), rows=90)) is None
    note = VALID.note(on("work", "cash", among=(0, 1), rows=100))
    assert note.startswith("Calibrated: the errors of cash contain")


def test_the_text_of_the_file_holds_the_sizes() -> None:
    assert Validity.from_text(VALID.to_text()) == VALID
    assert any("On the rows of the control group and some arms" in one for one in VALID.notes())


def test_sizes_fit_the_arms() -> None:
    with pytest.raises(ParameterError, match="give one for each arm"):
        ValidArms(columns=("cash", "food"), rows=((10, 10),))
    with pytest.raises(ParameterError, match="give one for each arm"):
        ValidArms(columns=("cash",), rows=((10, 10),), clusters=((1, 1), (1, 1)))
    assert np.isnan(ValidArms(columns=("cash", "food"), rows=((1, 1, 9),)).factor((0, 1), 0))
