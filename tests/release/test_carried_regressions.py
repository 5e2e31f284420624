"""Declared regressions of a calibrated file: the command of the paper returns what was released."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import dprct
from dprct.certificate.valid_declared import ValidRegression
from dprct.certificate.valid_regressions import Validity
from dprct.errors import DprctError, ParameterError
from dprct.release.calibrated.carried import Aim, _carried, carried_of, planned
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dprct.release.release import Release

PUBLIC: dict[str, Any] = {"missing": (), "fate": "public"}
PRIVATE: dict[str, Any] = {"missing": (), "fate": "modelled"}
TWO = (0.0, 1.0)
SCHEMA = Schema((
    Column("block", "byte", **PUBLIC),
    Column("village", "int", **PUBLIC),
    Column("t", "byte", levels=TWO, **PUBLIC),
    Column("t2", "byte", levels=TWO, **PUBLIC),
    Column("x", "double", bounds=(-3, 3), sd=1.0, **PRIVATE),
    Column("f", "byte", levels=TWO, **PRIVATE),
    Column("y", "double", bounds=(-4, 4), sd=1.0, **PRIVATE),
    Column("z", "byte", levels=TWO, **PRIVATE),
))  # fmt: skip
BUDGET: dict[str, float] = {"epsilon": 4, "delta": 1e-6}


def rows(villages: int = 60, of: int = 20, *, by: str = "village") -> pd.DataFrame:
    """Return a trial in four blocks, of villages or people, with an effect of .5 on y."""
    rng = np.random.default_rng(3)
    n = villages * of
    village = np.repeat(np.arange(villages), of)
    block = village % 4
    t = (village // 4) % 2 if by == "village" else rng.permuted(
        np.tile([0, 1], n // 2).reshape(-1, 4), axis=1
    ).ravel()  # fmt: skip
    if by == "people":
        t = np.zeros(n)
        for one in range(4):
            here = np.flatnonzero(block == one)
            t[rng.permutation(here)[: len(here) // 2]] = 1
    x, f = np.clip(rng.normal(size=n), -3, 3), rng.integers(0, 2, n)
    y = 0.5 * t + 0.6 * x + 0.2 * rng.normal(size=villages)[village] + 0.7 * rng.normal(size=n)
    return pd.DataFrame(
        {
            "block": block, "village": village, "t": t, "t2": 0, "x": x, "f": f,
            "y": np.clip(y, -4, 4), "z": rng.random(n) < 0.4 + 0.2 * t,
        }
    ).astype(np.float64)  # fmt: skip


PEOPLE = dprct.Block("t", block="block", shares=0.5)
VILLAGES = dprct.BlockCluster("t", block="block", cluster="village", shares=0.5, icc=0.1)


def released(
    formulas: Any, *, by: str = "people", data: pd.DataFrame | None = None, **options: Any
) -> Release:
    """Return a release of a trial, its covariates filler."""
    given = {"assignment": PEOPLE if by == "people" else VILLAGES, **options}
    table = rows(by="people" if by == "people" else "village") if data is None else data
    model = dprct.Calibrated(
        table, SCHEMA, formulas=formulas, covariate_release="filler", **given
    )  # fmt: skip
    return model.fit(**BUDGET, rng=7)


def least_squares(
    table: pd.DataFrame, y: str, right: Sequence[str], blocks: str = "", cluster: str = ""
) -> Any:
    """Return least squares by statsmodels, as Stata has it."""
    columns = table[list(right)].astype(float)
    if blocks:
        columns = columns.join(
            pd.get_dummies(table[blocks], prefix="b", drop_first=True).astype(float)
        )
    fit = sm.OLS(table[y], sm.add_constant(columns))
    if not cluster:
        return fit.fit(cov_type="HC1")
    return fit.fit(cov_type="cluster", cov_kwds={"groups": table[cluster]})


@pytest.mark.parametrize(
    ("by", "formula", "right", "blocks"),
    [
        ("people", "y ~ t + x + f", ["t", "x", "f"], ""),
        ("people", "y ~ t + x | block", ["t", "x"], "block"),
        ("villages", "y ~ t + x + f + C(block)", ["t", "x", "f"], "block"),
        ("villages", "z ~ t | block", ["t"], "block"),
    ],
)
def test_the_command_on_the_dta_returns_the_released_numbers(
    by: str, formula: str, right: list[str], blocks: str, tmp_path: Path
) -> None:
    model = dprct.Calibrated(
        rows(by="people" if by == "people" else "village"), SCHEMA, formulas=[formula],
        assignment=PEOPLE if by == "people" else VILLAGES, covariate_release="filler",
    )  # fmt: skip
    release = model.fit(**BUDGET)
    release.write_dta(tmp_path / "trial.dta")
    table = pd.read_stata(tmp_path / "trial.dta", convert_categoricals=False)
    fit = least_squares(table, formula[0], right, blocks, "village" if by == "villages" else "")
    effect, error = release.estimates.params.iloc[0], release.estimates.bse.iloc[0]
    assert fit.params["t"] == pytest.approx(effect, rel=1e-9)
    assert fit.bse["t"] == pytest.approx(error, rel=1e-9)
    read, schema = dprct.read_dta(tmp_path / "trial.dta")
    cluster = "village" if by == "villages" else None
    ours = dprct.ols(formula, read, schema, cluster=cluster)
    assert ours.bse["t"] == pytest.approx(error, rel=1e-9)
    assert any(note.startswith("Calibrated:") for note in ours.notes)
    assert "adjusted difference" in " ".join(ours.notes)
    assert {"x", "Intercept"} & {*ours.params.index} <= {*ours.not_carried}
    release.protected.loc[0, ["block", "t", "x", "y"]] = 0.0  # none of it is read-only


def test_three_arms_have_the_released_covariance() -> None:
    data = rows(by="people")
    order = np.random.default_rng(1).permutation(len(data)) % 3
    data["t"], data["t2"] = 1.0 * (order == 1), 1.0 * (order == 2)
    release = released(
        ["y ~ t + t2 + x"], data=data, assignment=dprct.Complete(["t", "t2"], shares=[1 / 3, 1 / 3])
    )
    fit = least_squares(release.protected, "y", ["t", "t2", "x"])
    told = release.estimates
    assert fit.params[["t", "t2"]].to_numpy() == pytest.approx(told.params.to_numpy(), rel=1e-9)
    cov = fit.cov_params().loc[["t", "t2"], ["t", "t2"]].to_numpy()
    assert cov == pytest.approx(told.cov.to_numpy(), rel=1e-8)


def test_each_outcome_has_its_own_covariates_and_name() -> None:
    release = released(["y ~ t + x | block", dprct.Regression("z ~ t + f", name="take-up")])
    table, told = release.protected, release.estimates
    assert list(told.params.index) == ["y: t", "z: t"]
    y = least_squares(table, "y", ["t", "x"], "block")
    z = least_squares(table, "z", ["t", "f"])
    assert [y.params["t"], z.params["t"]] == pytest.approx(told.params.to_numpy(), rel=1e-9)
    assert [y.bse["t"], z.bse["t"]] == pytest.approx(told.bse.to_numpy(), rel=1e-9)
    assert len(told.plot().collections) > 0
    read = dprct.ols("z ~ t + f", release)
    assert np.allclose(read.conf_int().loc["t"], told.conf_int().loc["z: t"], rtol=1e-9)


def test_rows_that_are_apart_are_carried_together() -> None:
    formulas = [
        dprct.Regression("y ~ t + x", where="block <= 1"),
        dprct.Regression("y ~ t + f", where="block == 2"),
    ]
    release = released(formulas)
    table, told = release.protected, release.estimates
    for place, (some, right) in enumerate(
        [(table["block"] <= 1, ["t", "x"]), (table["block"] == 2, ["t", "f"])]
    ):
        fit = least_squares(table[some], "y", right)
        assert fit.params["t"] == pytest.approx(told.params.iloc[place], rel=1e-9)
        assert fit.bse["t"] == pytest.approx(told.bse.iloc[place], rel=1e-9)
    inside = dprct.ols("y ~ t + x", table[table["block"] <= 1], release.schema)
    assert any(note.startswith("Calibrated:") for note in inside.notes)
    whole = dprct.ols("y ~ t + x", table, release.schema)
    assert "t" in whole.not_carried
    assert "no regression of y was declared on these" in " ".join(whole.notes)
    fewer = dprct.ols("y ~ t + x", table[table["block"] == 1], release.schema)
    assert "t" in fewer.not_carried


def test_of_two_regressions_on_the_same_rows_the_first_is_carried() -> None:
    release = released(["y ~ t + x", "y ~ t"])
    first, second = Validity.of(release.schema).declared  # type: ignore[union-attr]
    assert [first.carries, second.carries] == ["all", "nothing"]
    told = release.estimates
    assert second.released[0][1:] == pytest.approx(
        (told.params.iloc[1], told.bse.iloc[1]), rel=1e-9
    )
    read = dprct.ols("y ~ t", release.protected, release.schema)
    assert "t" in read.not_carried
    note = " ".join(read.notes)
    assert f"{told.params.iloc[1]:.6g}" in note
    assert "and not y ~ t" in note


def test_fewer_covariates_return_the_adjusted_effect_and_other_errors() -> None:
    release = released(["y ~ t + x + f"])
    read = dprct.ols("y ~ t + x", release.protected, release.schema)
    assert read.params["t"] == pytest.approx(release.estimates.params.iloc[0], rel=1e-9)
    assert "n.r. without x, f" in " ".join(read.notes)
    other = dprct.ols("y ~ t + x + f + z", release.protected, release.schema)
    assert "t" in other.not_carried


def test_a_clustered_error_that_rows_cannot_carry_is_not_released_on_the_file() -> None:
    """Four clusters, two arms and two blocks leave one sum of clusters: no covariance of two."""
    table = pd.DataFrame(
        {"village": np.repeat(np.arange(4.0), 5), "t": np.repeat([0.0, 1, 0, 0], 5),
         "t2": np.repeat([0.0, 0, 1, 0], 5), "x": np.random.default_rng(1).normal(size=20)}
    )  # fmt: skip
    one = ValidRegression(outcome="y", arms=("t", "t2"), cluster="village", covariates=("x",))
    covariance = np.array([[0.04, -0.01], [-0.01, 0.05]])
    values = np.full(20, np.nan)
    aim = Aim(one, np.array([0.3, -0.2]), covariance, 1.0)
    schema = Schema(tuple(Column(name, "double", **PUBLIC) for name in table))
    told = _carried(aim, values, np.ones(20, bool), table, schema, np.random.default_rng(2))
    assert told.carries == "effects"
    fit = least_squares(table.assign(y=values), "y", ["t", "t2", "x"])
    assert fit.params[["t", "t2"]].to_numpy() == pytest.approx([0.3, -0.2], rel=1e-9)
    valid = Validity(
        outcomes=("y",), arms=one.arms, covariates=(("x",),), cov_type="CR1", cluster="village",
        declared=(told,),
    )  # fmt: skip
    words = valid.describes("y", ["t", "t2", "x"], "cluster", "village")
    assert words is not None
    assert "released: t 0.3 (0.2), t2 -0.2" in words
    assert Validity.from_text(valid.to_text()) == valid


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"outcome": "y"}, "outcomes stand on the left"),
        ({"covariates": ["x"]}, "covariates stand in the formulas"),
        ({"specifications": [""]}, "a formula of its own"),
        ({"alphas": [0.05, 0.01]}, "95 % intervals"),
        ({"legal": "strict"}, "admissible values"),
        ({"gamma": "moments"}, "adjust its effects"),
        ({"subgroups": "block"}, "where="),
        ({"neighbors": "replace-one"}, "treatment is public"),
        ({"privacy_unit": "cluster"}, "protect a person"),
        ({"assignment": None}, "``assignment=``"),
        ({"budget_shares": {"y": 0.4, "z": 0.6}}, "divides the budget"),
        ({"formulas": ["y ~ t*x"]}, "products of treatment"),
        ({"formulas": ["y ~ t*C(block)"]}, "products of treatment"),
        ({"formulas": ["y ~ x"]}, "does not name the treatment"),
        ({"formulas": ["y ~ x + [z ~ t]"]}, ""),
        ({"formulas": [dprct.Regression("y ~ t", weights="x")]}, "weights"),
        ({"formulas": [dprct.Regression("y ~ t", where="f == 1")]}, "private"),
        ({"formulas": []}, "neither ``outcome=`` nor ``formulas=``"),
    ],
)
def test_what_a_file_does_not_carry_is_refused_by_name(given: dict[str, Any], said: str) -> None:
    options = {"formulas": ["y ~ t + x", "z ~ t"], "assignment": PEOPLE, **given}
    with pytest.raises(DprctError) as refused:
        dprct.Calibrated(rows(by="people"), SCHEMA, **options)
    assert said.replace("``", "") in str(refused.value)


def test_a_delta_is_needed_and_power_is_of_differences_in_means() -> None:
    model = dprct.Calibrated(
        rows(by="people"), SCHEMA, formulas=["y ~ t + x"], assignment=PEOPLE,
        covariate_release="filler",
    )  # fmt: skip
    with pytest.raises(ParameterError, match="needs a delta"):
        model.plan(epsilon=1)
    with pytest.raises(ParameterError, match="expected error of each"):
        model.power(epsilon=1, delta=1e-6)
    plan = model.plan(**BUDGET)
    (served,) = [one for one in plan.numbers if one.quantity == "served"]
    assert served.regression == "y ~ t + x"
    assert "radius" not in str(plan)


def test_what_is_carried_is_the_first_of_those_that_share_rows() -> None:
    def one(where: str | None, outcome: str = "y") -> ValidRegression:
        return ValidRegression(outcome=outcome, arms=("t",), where=where)

    listed = [one("block <= 1"), one("block == 2"), one(None), one(None, "z"), one("block == 1")]
    block = np.arange(4.0)
    masks = [block <= 1, block == 2, block >= 0, block >= 0, block == 1]
    found = [x.carries for x in carried_of(listed, masks)]
    assert found == ["all", "all", "nothing", "all", "nothing"]
    told = [x.carries for x in planned(listed)]  # which rows are apart is not known yet
    assert told == ["all", "all", "nothing", "all", "all"]


def test_a_saved_draw_makes_the_same_file_facts() -> None:
    release = released(["y ~ t + x | block"], by="villages")
    valid = Validity.of(release.schema)
    assert valid is not None
    assert Validity.from_text(valid.to_text()) == valid
    assert valid.cov_type == "CR1"
    assert valid.declared[0].cluster == "village"
