"""Public groups of a calibrated file: which regressions within them, and across them, are valid."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dprct.certificate.valid_groups import ValidGroups, level_of, spelled
from dprct.certificate.valid_regressions import Specification, Validity
from dprct.errors import ParameterError

GROUPS = ValidGroups(
    column="soil", levels=("clay", "loam", "sand"), rows=((60,), (80,), (100,)),
    control_errors=((0.2,), (None,), (0.123456789012345,)),
)  # fmt: skip
VALID = Validity(
    outcomes=("harvest",), arms=("seed", "tools"), rows=(240,), subsets_valid=True,
    covariates=((), ("C(soil)",), ("C(soil)", "age"), ("C(soil)", "age", "slope")),
    control_errors=(0.1,), groups=GROUPS,
)  # fmt: skip
APART = replace(
    VALID, groups=replace(GROUPS, whole=False), control_errors=(), covariates=VALID.covariates[1:]
)
ARMS = ("seed", "tools")
CROSSED = (*ARMS, "C(soil)", "C(soil):seed", "tools:C(soil)")


def run(*terms: str, **facts: object) -> Specification:
    return Specification(outcome="harvest", terms=terms, **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spec", "whole", "apart"),
    [
        (run(*ARMS), None, "other shares in some levels of soil"),
        (run(*ARMS, "C(soil)"), None, None),
        (run(*ARMS, "C(soil)", "age"), None, None),
        (run(*ARMS, "age"), "are not a declared set", "within a level, and those with C(soil)"),
        (run(*ARMS, "C(soil)", "slope"), "but their errors are not", "but their errors are not"),
        (run(*ARMS, rows=60, within="clay"), None, None),
        (run(*ARMS, "C(soil)", rows=80, within="loam"), None, None),
        (run(*CROSSED, rows=240), None, None),
        (run(*CROSSED[:-1]), "interaction C(soil):seed was", "interaction C(soil):seed was"),
        (run(*ARMS, rows=59, within="clay"), "59 of 60 rows; those with soil = \"clay\"", "59 of"),
        (run(*ARMS, rows=140), "140 of 240 rows; of subgroups only the levels of soil", "140 of"),
        (run(*ARMS, within="peat"), "is not a released level", "is not a released level"),
        (run(*ARMS, "age", within="clay"), "and not one with age", "and not one with age"),
        (run(*CROSSED, "age"), "and not one with age", "and not one with age"),
        (run(*ARMS, "rain", within="clay"), "rain was not declared", "rain was not declared"),
        (run("seed", within="clay"), "lacks the treatment tools", "lacks the treatment tools"),
        (run(*ARMS, within="clay", cov_type="HC3"), "not HC3", "not HC3"),
    ],
)  # fmt: skip
def test_what_is_valid_in_groups(spec: Specification, whole: str | None, apart: str | None) -> None:
    for valid, expected in ((VALID, whole), (APART, apart)):
        reason = valid.reason(spec)
        assert reason is None if expected is None else expected in (reason or "")
        assert valid.note(spec).startswith("Calibrated:" if expected is None else "Not calibrated")


def test_a_file_without_groups_has_no_subgroups() -> None:
    spec = run(*ARMS, rows=60, within="clay")
    assert replace(VALID, groups=None).reason(spec) == (
        "it uses 60 of 240 rows; subgroups were not released"
    )


@pytest.mark.parametrize("valid", [VALID, APART])
def test_the_file_says_it_in_words_that_are_read_again(valid: Validity) -> None:
    for one in (valid, replace(valid, groups=None)):
        assert Validity.from_text(one.to_text()) == one
    said = " ".join(valid.notes())
    assert "within each level of soil" in said
    assert ("Arms have other shares" in said) == (valid is APART)


def test_numbers_are_levels_too() -> None:
    groups = replace(GROUPS, levels=(1.0, 2.5, 10.0))
    valid = replace(VALID, groups=groups)
    assert Validity.from_text(valid.to_text()) == valid
    assert [spelled(level) for level in groups.levels] == ["1", "2.5", "10"]


def test_control_means_have_the_errors_of_their_level() -> None:
    errors = [VALID.constant_error(run(*ARMS, within=level)) for level in GROUPS.levels]
    assert errors == [0.2, None, 0.123456789]
    assert VALID.constant_error(run(*ARMS)) == 0.1
    assert APART.constant_error(run(*ARMS)) is None
    assert VALID.constant_error(run(*CROSSED)) is None


def test_of_two_levels_a_number_is_as_good_as_categories() -> None:
    keys = {"t", "g", "g:t"}
    two = ValidGroups(column="g", levels=(0.0, 1.0), rows=((1,), (1,)),
                      control_errors=((None,), (None,)))  # fmt: skip
    three = replace(two, levels=(0.0, 1.0, 2.0), rows=((1,),) * 3, control_errors=((None,),) * 3)
    assert two.crossing(keys, {"t"}) == {"g", "g:t"}
    assert three.crossing(keys, {"t"}) == set()
    assert three.crossing({"t", "C(g)", "C(g):t"}, {"t"}) == {"C(g)", "C(g):t"}


def test_without_factors_only_levels_are_valid_where_shares_differ() -> None:
    none = replace(APART, covariates=((), ("age",)))
    for terms in (ARMS, (*ARMS, "age"), (*ARMS, "C(soil)")):
        assert none.reason(run(*terms)) is not None
    assert none.reason(run(*ARMS, within="sand")) is None
    assert "Within each level, calibrated for" in none.notes()[0]


def test_the_level_of_rows_is_read_off_them() -> None:
    data = pd.DataFrame({"soil": ["clay", "clay", "loam", ""], "y": np.arange(4.0)})
    used = np.array([True, True, False, False])
    assert level_of(GROUPS, data, used) == "clay"
    assert level_of(GROUPS, data, ~used) is None
    assert level_of(GROUPS, data, data["y"] == 3) is None
    assert level_of(GROUPS, data[["y"]], used) is None
    assert level_of(None, data, used) is None


def test_as_many_rows_as_levels() -> None:
    with pytest.raises(ParameterError, match="3 levels of 'soil' with 2 numbers of rows"):
        replace(GROUPS, rows=((1,), (2,)))
