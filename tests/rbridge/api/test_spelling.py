from __future__ import annotations

from typing import Any

import pandas as pd

from dprct import Schema, ols
from dprct.rbridge.api.spelling import spelled


def test_names_are_spelled_everywhere_and_numbers_stay() -> None:
    rows = pd.DataFrame(
        {"y": [1.0, 2, 4, 3, 7, 5], "g": [1, 2, 3, 1, 2, 3], "x": [2.0, 1, 3, 5, 4, 9]}
    )
    fit = ols("y ~ C(g) + I(x ** 2)", rows, Schema.from_frame(rows))
    spelling: dict[str, Any] = {
        "formula": "y ~ arm + I(x^2)",
        "terms": {"C(g)": "arm", "I(x ** 2)": "I(x^2)"},
        "levels": {"g": {"2": " [b]", "3": ":c"}},
    }
    shown = spelled(fit, spelling)
    names = ["(Intercept)", "arm [b]", "arm:c", "I(x^2)"]
    assert list(shown.params.index) == names
    assert list(shown.cov.index) == list(shown.cov.columns) == names
    assert list(shown.layout) == names
    assert shown.params.tolist() == fit.params.tolist()
    assert shown.formula == "y ~ arm + I(x^2)"
    assert "arm [b]" in shown.summary()
    assert fit.params.index[0] == "Intercept"


def test_a_fit_without_factors_changes_its_intercept_only() -> None:
    rows = pd.DataFrame({"y": [1.0, 2, 4, 3], "x": [2.0, 1, 3, 5]})
    fit = ols("y ~ x", rows, Schema.from_frame(rows))
    shown = spelled(fit, {"formula": "y ~ x", "terms": [], "levels": []})
    assert list(shown.params.index) == ["(Intercept)", "x"]
