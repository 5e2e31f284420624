"""All that keeps a regression from being valid, in the order of the rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dprct.assignment import Simple
from dprct.certificate.valid_regressions import Validity
from dprct.dofile import Regression
from dprct.estimate.moments.declared import Regression as Asked
from dprct.estimate.moments.model import MomentsSpec
from dprct.schema import Column, Schema, Unit
from dprct.study.moments_verdicts import Served
from dprct.study.prefill import prefilled
from dprct.study.verdicts import Released, verdicts

PLAIN = Regression("a.do", 1, "regress", "y", ("t", "age"), ("t",), vce="robust",
                   dataset="a.dta", sources=("a.dta",))  # fmt: skip
FATES = {"y": "modelled", "t": "public", "age": "modelled", "lost": "withheld"}


def calibrated() -> Released:
    valid = Validity(outcomes=("y",), arms=("t",), covariates=((), ("age",)), cov_type="HC1")
    return Released("a.dta", FATES, valid)


def moments() -> Released:
    columns = (
        Column("y", bounds=(0.0, 9.0), missing=(), built_from="own"),
        Column("t", levels=(0.0, 1.0), missing=(), fate="public"),
        Column("age", bounds=(0.0, 99.0), missing=(), built_from="own"),
    )
    spec = MomentsSpec(
        formulas=("y ~ t + age",), assignment=Simple(["t"]), neighbors="replace-one-design-public"
    )
    return Released("a.dta", FATES, served=Served.planned("a.moments.json", spec, Schema(columns)))


BAD = {
    "unknown": ("foo",),
    "steps": ("merge",),
    "weights": "pweight=w",
    "sample": "age > 30",
    "intercept": False,
}


@pytest.mark.parametrize("release", [calibrated, moments])
def test_every_obstacle_is_listed_once_and_the_first_as_before(release: object) -> None:
    file = release()  # type: ignore[operator]
    assert verdicts([PLAIN], file)[0].to_dict()["obstacles"] == []
    row = replace(PLAIN, regressors=("t", "age", "lost"), **BAD)  # type: ignore[arg-type]
    found = verdicts([row], file)[0]
    reasons = [found.reason, *(one.reason for one in found.further)]
    assert "lost is withheld" in reasons[0]
    for words in ("foo comes before", "after merge", "intercept", "weight", "age > 30"):
        assert sum(words in reason for reason in reasons) == 1, (words, reasons)
    listed = found.to_dict()["obstacles"]
    assert [one["reason"] for one in listed] == reasons  # type: ignore[attr-defined]
    assert str(found).count("; also, ") == len(found.further)


@pytest.mark.parametrize("release", [calibrated, moments])
@pytest.mark.parametrize("part", BAD)
def test_one_obstacle_has_no_further(release: object, part: str) -> None:
    row = replace(PLAIN, **{part: BAD[part]})  # type: ignore[arg-type]
    found = verdicts([row], release())[0]  # type: ignore[operator]
    assert found.kind == "artefact"
    assert found.further == ()


def test_what_is_read_off_the_rest_is_no_advice() -> None:
    row = replace(PLAIN, weights="pweight=w", vce="cluster", cluster=("age",))
    (other,) = verdicts([row], moments())[0].further
    assert "its errors are not served: " in other.reason
    assert other.remedy == ""


@pytest.mark.parametrize("command", ["intreg", "heckman", "qreg"])
def test_estimators_are_refused_by_name(command: str) -> None:
    outcome: str | list[str] = ["y", "age"] if command == "intreg" else "y"
    found = verdicts([replace(PLAIN, command=command, outcome=outcome)], moments())[0]
    assert "is not a linear regression" not in found.reason
    assert found.remedy.startswith("declare the ")


def test_effects_of_persons_whom_a_private_column_chooses_are_valid() -> None:
    row = Regression(
        "a.do", 1, "xtreg", "y", ("t",), ("t",), vce="cluster", cluster=("id",), absorb=("id",),
        sample="female == 1", dataset="a.dta", sources=("a.dta",),
    )  # fmt: skip
    drafted = prefilled(
        [row, replace(row, line=2, sample="female == 0")], ["y", "t", "female", "id"]
    )
    assert drafted.unit == "id"
    assert prefilled([row, PLAIN], ["y", "t", "female", "id", "age"]).unit == ""
    columns = (
        Column("y", bounds=(0.0, 9.0), missing=(), built_from="own"),
        Column("t", levels=(0.0, 1.0), missing=(), fate="public"),
        Column("female", levels=(0.0, 1.0), missing=(), built_from="own"),
        Column("id", "int", missing=()),
    )
    spec = MomentsSpec(
        formulas=tuple(Asked(one.formula, where=one.where) for one in drafted.regressions),
        assignment=Simple(["t"]), neighbors="replace-one-design-public",
    )  # fmt: skip
    schema = Schema(columns, unit=Unit("person", id="id", max_rows=4))
    served = Served.planned("a.moments.json", spec, schema)
    file = Released("a.dta", {**FATES, "female": "modelled", "id": "key"}, served=served)
    (found,) = verdicts([row], file)
    assert (found.kind, found.reason) == ("valid", "")
    assert "of each id all rows of which meet it" in str(found)
