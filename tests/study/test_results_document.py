"""The document of an estimate: numbers and public facts, and never over somebody else's file."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dprct
from dprct.errors import DisclosureError, FileError, ParameterError, SimulationError
from dprct.results.base import Confidential
from dprct.study.results_document import (
    read_results,
    rehearse_results,
    results_document,
    write_results,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def fitted() -> tuple[Any, Any]:
    rng = np.random.default_rng(2)
    X, t = rng.uniform(-1, 1, (400, 1)), rng.integers(0, 2, 400)
    model = dprct.IPW.from_arrays(X, t, rng.uniform(-1, 1, 400), bounds=(-1, 1), x_bounds=(-1, 1))
    return model, model.fit(4, 1e-5)


def test_a_simulation_and_a_confidential_report_are_not_written(fitted: tuple[Any, Any]) -> None:
    model, _ = fitted
    plan = model.plan(4, 1e-5)
    with pytest.raises(SimulationError, match="no document is written"):
        results_document("ipw", model.fit(4, 1e-5, rng=1), model, plan)
    with pytest.raises(DisclosureError, match="is not written"):
        results_document("ipw", Confidential(), model, plan)


def test_a_rehearsal_writes_nothing_and_spends_nothing(
    fitted: tuple[Any, Any], tmp_path: Path
) -> None:
    model, _ = fitted
    rehearse_results(tmp_path / "a.json", "ipw", model, model.plan(4, 1e-5))
    assert list(tmp_path.iterdir()) == []


class Untold:
    """A result without a table and without words of its ledger."""

    guarantee: Any

    def summary(self) -> str:
        return "1.0"


def test_a_result_that_cannot_be_written_is_refused_before_the_charge(
    fitted: tuple[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, result = fitted
    monkeypatch.setattr(type(model), "results", classmethod(lambda _: (type(result), Untold)))
    with pytest.raises(ParameterError, match="IPW have no ledger, tidy"):
        rehearse_results(tmp_path / "a.json", "ipw", model, model.plan(4, 1e-5))
    assert list(tmp_path.iterdir()) == []


def test_what_was_not_estimated_is_null_and_prints_as_nothing(
    fitted: tuple[Any, Any], tmp_path: Path
) -> None:
    model, result = fitted
    unknown = replace(result, params=result.params * np.nan, cov=result.cov * np.inf)
    document, text = results_document("ipw", unknown, model, model.plan(4, 1e-5))
    write_results(document, text, tmp_path / "a.json")
    found = json.loads((tmp_path / "a.json").read_text("utf-8"), parse_constant=pytest.fail)
    assert found["table"][0]["estimate"] is None
    assert found["table"][0]["std.error"] == "inf"
    again = read_results(tmp_path / "a.json")
    assert np.isinf(again.frame["std.error"].iloc[0])
    assert "nan" not in again.to_text()
    assert again.to_csv().splitlines()[1].startswith("ATE,,inf")


def test_a_document_of_another_version_is_not_read(fitted: tuple[Any, Any], tmp_path: Path) -> None:
    model, result = fitted
    document, text = results_document("ipw", result, model, model.plan(4, 1e-5))
    write_results(document, text, tmp_path / "a.json")
    for change in ('"results": 2', '"results": 1.5'):
        old = (tmp_path / "a.json").read_text("utf-8")
        (tmp_path / "b.json").write_text(old.replace('"results": 1', change), "utf-8")
        with pytest.raises(FileError, match="changed or replaced"):
            read_results(tmp_path / "b.json")
