"""The report: a number where there is one, else the reason, and nothing that runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dprct.certificate.certificate import Certificate
from dprct.dofile import Regression
from dprct.privacy.budget import Budget, Guarantee
from dprct.results.ols import ols
from dprct.schema import Schema
from dprct.study.package_page import (
    Cell,
    OnFile,
    Side,
    cells_of,
    custodian_page,
    report_page,
    silent_of,
)
from dprct.study.verdicts import Verdict

CERTIFICATE = Certificate(
    guarantee=Guarantee.of(Budget(1), "replace-one", unit="person"),
    method="Calibrated",
    facts={},
    dataset_id="mills",
    seal="sealed",
    seal_sha256="0",
    header="confirmed",
    ledger="charged",
    fates={"cloth": "modelled", "bonus": "public"},
    differences=(),
    file={"name": "mills.dta"},
)


def frame(seed: int) -> tuple[pd.DataFrame, Schema]:
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"bonus": rng.integers(0, 2, 90).astype(float)})
    data["cloth"] = data["bonus"] + rng.normal(size=90)
    data["shed"] = np.arange(90) % 5.0
    return data, Schema.from_frame(data)


def verdict(kind: str, **changes: object) -> Verdict:
    plain = {"file": "a.do", "line": 4, "command": "regress", "outcome": "cloth",
             "regressors": ("bonus",), "treatments": ("bonus",), "vce": "robust"}  # fmt: skip
    row = Regression(**{**plain, **changes})  # type: ignore[arg-type]
    why = "" if kind == "valid" else "because <b>of</b> it"
    return Verdict(row, kind, why, "" if kind == "valid" else "do that")  # type: ignore[arg-type]


def sides(found: list[Verdict], released: Any, raw: Any = None) -> list[Side]:
    every = frozenset(range(len(found)))
    return [Side(OnFile(*released), CERTIFICATE, every, None if raw is None else OnFile(*raw))]


@pytest.mark.parametrize(
    ("vce", "cluster", "cov_type"),
    [("robust", (), "HC1"), ("classical", (), "nonrobust"), ("cluster", ("shed",), "cluster")],
)
def test_a_cell_is_the_regression_that_the_do_file_asks_for(
    vce: str, cluster: tuple[str, ...], cov_type: str
) -> None:
    data, schema = frame(1)
    one = verdict("valid", vce=vce, cluster=cluster)
    cells, failed = cells_of([one], OnFile(data, schema), 0.1)
    assert failed == {}
    group = cluster[0] if cluster else None
    fit = ols("cloth ~ bonus", data, schema, cov_type=cov_type, cluster=group)
    cell = cells[0, "bonus"]
    assert (cell.estimate, cell.error) == (fit.params["bonus"], fit.bse["bonus"])
    low, high = fit.conf_int(0.1).loc["bonus"]
    assert (cell.low, cell.high, cell.width) == (low, high, high - low)


def test_what_means_nothing_has_no_number() -> None:
    data, schema = frame(1)
    kinds = [verdict("valid"), verdict("effects only"), verdict("artefact"), verdict("cannot run")]
    cells, _ = cells_of(kinds, OnFile(data, schema), 0.05)
    assert set(cells) == {(0, "bonus"), (1, "bonus")}
    page = report_page(kinds, sides(kinds, (data, schema)))
    number = f"{cells[0, 'bonus'].estimate:.4g}"
    assert page.count(f"<td>{number} (") == 1
    assert page.count(f"<td>{number}</td>") == 1  # effects only: without an error
    assert page.count(number) == 2
    assert "artefact: because &lt;b&gt;of&lt;/b&gt; it; do that" in page
    assert "<b>" not in page
    assert "<script" not in page
    assert "CONFIDENTIAL" not in page


def test_a_regression_that_cannot_be_run_here_says_why() -> None:
    data, schema = frame(1)
    one = verdict("valid", outcome="nothere")
    assert cells_of([one], OnFile(data, schema), 0.05)[1].keys() == {0}
    assert "nothere" in report_page([one], sides([one], (data, schema)))


def test_the_custodian_sees_both_files_and_the_ratio() -> None:
    released, confidential = frame(1), frame(2)
    kinds = [verdict("valid"), verdict("artefact")]
    page = custodian_page(kinds, sides(kinds, released, confidential))
    mine = cells_of(kinds, OnFile(*released), 0.05)[0][0, "bonus"]
    true = cells_of(kinds, OnFile(*confidential), 0.05)[0][0, "bonus"]
    for number in (mine.estimate, true.estimate, true.width, mine.width / true.width):
        assert f"{number:.4g}" in page
    assert "<title>CONFIDENTIAL" in page
    assert "stays with the custodian" in page
    assert f"{true.estimate:.4g}" not in report_page(kinds, sides(kinds, released, confidential))


def test_tables_stand_in_their_order() -> None:
    data, schema = frame(1)
    found = [verdict("valid", table=name) for name in ("Table 2", "", "Table 1", "Table 2")]
    page = report_page(found, sides(found, (data, schema)))
    places = [page.index(f"<h2>{name}") for name in ("Table 2", "No table named", "Table 1")]
    assert places == sorted(places)
    assert "Table 2: 2 valid" in page


def test_what_noise_hides_is_called_not_estimated() -> None:
    class Noisy:
        level = 0.05

        def cells(self, _one: Verdict, _level: float) -> dict[str, Cell]:
            nothing = float("nan")
            return {"age": Cell(1.5, 1.0, -0.5, 3.5), "bonus": Cell(*[nothing] * 4)}

    one, on = verdict("valid", command="probit"), Noisy()
    side = Side(on, CERTIFICATE, frozenset({0}))  # type: ignore[arg-type]
    page = report_page([one], [side])
    assert "<td>not estimated</td>" in page
    assert "none (none)" not in page
    assert "none to none" not in page
    cells, _ = cells_of([one], on, 0.05)  # type: ignore[arg-type]
    assert silent_of([one], cells) == {"a.do:4 probit cloth": ("bonus",)}
