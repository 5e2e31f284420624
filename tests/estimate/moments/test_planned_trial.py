"""Power of a trial that is being planned: as the plan of its data would say, without any."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dprct
from dprct import Column, PrivateMoments, Regression, Schema
from dprct.errors import ParameterError, SchemaError
from dprct.estimate.moments.planned_trial import people_of

if TYPE_CHECKING:
    from pathlib import Path

NEVER: Any = {"missing": ()}
SCHEMA = Schema((
    Column("y", bounds=(-4, 6), sd=1.3, **NEVER), Column("x", bounds=(-3, 3), sd=1.0, **NEVER),
    Column("t", "byte", levels=(0.0, 1.0), **NEVER),
    Column("district", "byte", levels=tuple(range(5)), **NEVER), Column("village", "int", **NEVER),
))  # fmt: skip
VILLAGES = dprct.BlockCluster("t", block="district", cluster="village", shares=0.5, icc=0.1)
FORMULAS = ["y ~ t + x | district"]


def power(people: Any = 3000, **options: Any) -> pd.DataFrame:
    given: dict[str, Any] = {
        "assignment": VILLAGES, "formulas": FORMULAS, "cluster_size": 30, **options,
    }  # fmt: skip
    return PrivateMoments.power_of_trial(people, SCHEMA, 2, 1e-6, **given)


def test_it_is_what_the_plan_of_the_data_says() -> None:
    found = power().loc[(FORMULAS[0], "t")]
    rng, village = np.random.default_rng(1), np.arange(3000) // 30
    rows = pd.DataFrame({"village": village, "district": village % 5})
    rows["t"] = VILLAGES.assign(rows, rng=3)["t"]
    data = rows.assign(y=rng.normal(size=3000).clip(-4, 6), x=rng.normal(size=3000).clip(-3, 3))
    model = PrivateMoments(data, SCHEMA, assignment=VILLAGES, formulas=FORMULAS,
                           neighbors="replace-one-design-public")  # fmt: skip
    planned = model._allocated(dprct.Budget(2, 1e-6)).planned[0]  # type: ignore[attr-defined]
    np.testing.assert_allclose(
        found[["error", "noise", "without_privacy", "difference_in_means"]].to_numpy(float),
        [planned.error[0], planned.noise[0], planned.alone[0], planned.unadjusted[0]], rtol=1e-9,
    )  # fmt: skip
    # the power of the t test at the detectable effect is .8
    t = stats.t(99)
    at = found["detectable"] / found["error"]
    assert t.cdf(at - t.ppf(0.975)) == pytest.approx(0.8, abs=1e-6)
    again = power(rows[["village", "district"]], cluster_size=None).loc[(FORMULAS[0], "t")]
    assert again["error"] == pytest.approx(found["error"])


def test_more_people_and_more_budget_detect_less() -> None:
    few, many = power()["detectable"].iloc[0], power(12000)["detectable"].iloc[0]
    assert many < few
    assert power(alpha=0.01)["detectable"].iloc[0] > few


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"people": 0}, "people=0.*how many people"),
        ({"cluster_size": None}, "how many people are in each village"),
        ({"assignment": dprct.Complete("t", shares=0.5), "formulas": ["y ~ t"]}, "is of declared"),
    ],
)
def test_what_leaves_a_trial_open_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        power(options.pop("people", 3000), **options)


def test_amounts_made_of_treatment_fall_as_treatment_does() -> None:
    made = [
        Column("off", levels=(0.0, 9.0), made_of=("t",), **NEVER),
        Column("cents", levels=(0.0, 100.0), derived="100 * t", **NEVER),
    ]
    for one, times in zip(made, (9, 100), strict=True):
        schema, right = Schema((*SCHEMA.columns, one)), f"y ~ {one.name} + x | district"
        found = PrivateMoments.power_of_trial(
            3000, schema, 2, 1e-6, assignment=VILLAGES, formulas=[right], cluster_size=30
        )
        assert found["error"].iloc[0] == pytest.approx(power()["error"].iloc[0] / times)


def test_villages_are_numbered_from_their_smallest_code_and_nobodys_data_are_opened(
    tmp_path: Path,
) -> None:
    source = tmp_path / "rows.dta"
    source.write_bytes(b"")
    bounded = replace(SCHEMA.column("village"), bounds=(1, 100))
    columns = tuple(bounded if one.name == "village" else one for one in SCHEMA.columns)
    schema = replace(SCHEMA, columns=columns, source=source, dataset_id="trial")
    found = PrivateMoments.power_of_trial(
        3000, schema, 2, 1e-6, assignment=VILLAGES, formulas=FORMULAS, cluster_size=30
    )
    assert found["error"].iloc[0] == pytest.approx(power()["error"].iloc[0])
    with pytest.raises(SchemaError, match="village"):
        PrivateMoments.power_of_trial(
            6000, schema, 2, 1e-6, assignment=VILLAGES, formulas=FORMULAS, cluster_size=30
        )
    assert not schema.warned
    assert [*tmp_path.iterdir()] == [source]


def test_weights_that_are_not_known_are_planned_as_spread_evenly() -> None:
    weight = Column("w", bounds=(0, 4), fate="public", **NEVER)
    schema = Schema((*SCHEMA.columns, weight))
    design, formulas = dprct.Complete("t", shares=0.5), [Regression("y ~ t", weights="w"), "y ~ t"]
    given: dict[str, Any] = {"assignment": design, "formulas": formulas}
    people = people_of(2000, schema, design, formulas)
    found = PrivateMoments.power_of_trial(people, schema, 4, 1e-6, **given)["without_privacy"]
    assert found.iloc[0] / found.iloc[1] == pytest.approx((4 / 3) ** 0.5, rel=0.01)
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"t": np.arange(2000) % 2.0, "w": rng.uniform(0, 4, 2000)})
    rows["y"] = rng.normal(size=2000).clip(-4, 6)
    plan = PrivateMoments(
        rows,
        Schema((SCHEMA.column("y"), SCHEMA.column("t"), weight)),
        neighbors="replace-one-design-public",
        **given,
    ).plan(4, 1e-6)
    of_rows = [n.value for n in plan.numbers if n.quantity == "std_error_without_privacy"]
    assert found.iloc[0] == pytest.approx(of_rows[0], rel=0.03)
