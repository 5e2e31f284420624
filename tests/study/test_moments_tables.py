"""Where the moments of a study are written, and the tables that are read off them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct import Column, PrivateMoments, Schema, Unit
from dprct.errors import FileError
from dprct.study.declared_tables import tables_from
from dprct.study.moments_tables import DeclaredMoments, check_moments_target, moments_path
from dprct.study.tables_of_moments import table_of_moments

if TYPE_CHECKING:
    from pathlib import Path


def test_the_moments_are_named_after_the_results(tmp_path: Path) -> None:
    assert moments_path(tmp_path / "trial_results.json").name == "trial.moments.json"
    check_moments_target(tmp_path / "trial_results.json", "trial")


def test_a_strangers_file_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "trial.moments.json").write_text("{}")
    with pytest.raises(FileError):
        check_moments_target(tmp_path / "trial_results.json", "trial")
    with pytest.raises(FileError, match="leave out"):
        check_moments_target(tmp_path / "other.moments.json", "trial")


def test_a_strangers_certificate_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "trial.moments.certificate.txt").write_text("mine")
    with pytest.raises(FileError, match=r"'trial\.moments\.certificate\.txt' exists"):
        check_moments_target(tmp_path / "trial_results.json", "trial")


def test_of_units_with_several_rows_only_declared_regressions_are_tabled() -> None:
    """Effects would take rows to be independent; a refusal after the charge would lose the rest."""
    rng, pupils = np.random.default_rng(3), 800
    data = pd.DataFrame(
        {
            "grade": rng.uniform(-1, 1, 2 * pupils),
            "tutor": np.repeat(rng.integers(0, 2, pupils), 2).astype(float),
            "pupil": np.repeat(np.arange(pupils), 2).astype(float),
        }
    )
    schema = Schema(
        (
            Column("grade", bounds=(-1, 1), missing=()),
            Column("tutor", "byte", levels=(0, 1), missing=()),
            Column("pupil", "int", missing=()),
        )
    ).declare(unit=Unit("pupil", id="pupil", max_rows=2))
    asked = PrivateMoments(
        data, schema, formulas=["grade ~ tutor"], cov_type="CR1", assignment=dprct.Simple("tutor")
    )
    moments = asked.fit(epsilon=4, delta=1e-6, rng=1)
    tables = DeclaredMoments(moments, (dprct.Regression("grade ~ tutor"),))
    assert tables.tidy()["of"].unique().tolist() == ["grade ~ tutor"]
    other = DeclaredMoments(moments, (dprct.Regression("tutor ~ grade"),))
    assert other.tidy().empty
    assert other.tables["fits"].empty
    assert "were not released" in other.notes[-1]


def test_effects_within_subgroups_are_tables_of_the_document() -> None:
    n = 4000
    data = pd.DataFrame(
        {
            "grade": np.tile([-0.5, 0.5, 0.2, 0.4], n // 4),
            "tutor": np.tile([0.0, 1.0], n // 2),
            "town": np.repeat(["a", "b"], n // 2),
        }
    )
    schema = Schema(
        (
            Column("grade", bounds=(-1, 1), missing=()),
            Column("tutor", "byte", levels=(0, 1), missing=()),
            Column("town", "str1", levels=("a", "b"), missing=()),
        )
    )
    asked = PrivateMoments(
        data, schema, formulas=["grade ~ tutor"], subgroups=["town"],
        assignment=dprct.Complete("tutor", shares=0.5), neighbors="replace-one-design-public",
    )  # fmt: skip
    moments = asked.fit(epsilon=4, delta=1e-6, rng=1)
    tables = DeclaredMoments(moments, (dprct.Regression("grade ~ tutor"),)).tables
    pd.testing.assert_frame_equal(tables["effects by town"], moments.effects(where="town").tidy())
    assert tables["effects by town"]["term"].tolist() == [
        "grade if town=a: tutor", "grade if town=b: tutor",
    ]  # fmt: skip


def test_a_table_of_some_rows_has_no_control_mean_of_all_people() -> None:
    n = 4000
    data = pd.DataFrame({
        "grade": np.tile([-0.5, 0.5, 0.2, 0.4], n // 4),
        "tutor": np.tile([0.0, 1.0], n // 2),
        "late": np.repeat([0.0, 1.0], n // 2),
    })  # fmt: skip
    schema = Schema((
        Column("grade", bounds=(-1, 1), missing=()),
        Column("tutor", "byte", levels=(0, 1), missing=(), fate="public"),
        Column("late", "byte", levels=(0, 1), missing=()),
    ))  # fmt: skip
    asked = PrivateMoments(
        data, schema, columns=["grade"], subgroups=["late"], assignment=dprct.Simple("tutor"),
        neighbors="replace-one-design-public",
    )  # fmt: skip
    moments = asked.fit(epsilon=40, delta=1e-6, rng=1)
    keys = {"name": "t", "outcomes": ["grade"], "arms": ["tutor"], "errors": "nonrobust"}
    whole, late = tables_from([keys, keys | {"name": "t2", "where": "late == 1"}])
    found = [table_of_moments(one, moments).tidy().iloc[0] for one in (whole, late)]
    assert [np.isnan(one["control_mean"]) for one in found] == [False, True]
    assert not any(np.isnan(one["estimate"]) for one in found)
    labelled = replace(moments, schema=schema.declare(grade={"label": "log(score)"}))
    assert "log(score)" in table_of_moments(whole, labelled).to_text()
    assert "log(score)" not in table_of_moments(whole, labelled, ["grade"]).to_text()
