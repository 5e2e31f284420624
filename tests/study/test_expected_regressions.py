"""The numbers of valid regressions: those of the file, each once, and of no other regression."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dprct.dofile import Regression
from dprct.results.ols import ols
from dprct.schema import Schema
from dprct.study.expected_regressions import entries
from dprct.study.package_page import OnFile
from dprct.study.verdicts import Verdict


def verdict(kind: str, line: int, *regressors: str, **changes: object) -> Verdict:
    plain: dict[str, object] = {"outcome": "honey", "treatments": ("hive",), "vce": "robust"}
    row = Regression("b.do", line, "regress", regressors=regressors, **{**plain, **changes})  # type: ignore[arg-type]
    return Verdict(row, kind)  # type: ignore[arg-type]


def test_each_valid_regression_gives_its_estimate_and_error_once() -> None:
    rng = np.random.default_rng(5)
    data = pd.DataFrame({"hive": np.arange(80) % 2.0, "hill": rng.normal(size=80)})
    data["honey"] = data["hive"] + rng.normal(size=80)
    schema = Schema.from_frame(data)
    found = [
        verdict("valid", 2, "hive"),
        verdict("valid", 4, "hive", "hill"),
        verdict("valid", 4, "hive", "hill"),  # a loop runs it again
        verdict("effects only", 5, "hive"),
        verdict("artefact", 6, "hive"),
        verdict("valid", 7, "hive", outcome="nothere"),
    ]
    listed = entries(found, OnFile(data, schema))
    fits = [ols(f"honey ~ {right}", data, schema) for right in ("hive", "hive + hill")]
    assert [(one["table"], one["covariates"], one["statistic"]) for one in listed] == [
        ("b.do:2 regress robust", "", "estimate"), ("b.do:2 regress robust", "", "std.error"),
        ("b.do:4 regress robust", "hill", "estimate"),
        ("b.do:4 regress robust", "hill", "std.error"),
    ]  # fmt: skip
    assert [one["value"] for one in listed] == [
        number for fit in fits for number in (fit.params["hive"], fit.bse["hive"])
    ]
    assert [one["table"] for one in entries(found, OnFile(data, schema), {0})] == [
        "b.do:2 regress robust"
    ] * 2
