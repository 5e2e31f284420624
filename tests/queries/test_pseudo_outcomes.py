from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.encoding import encodings
from dprct.queries.additive import CodedRows, doubly_robust, residual_ratio
from dprct.schema import Column, Schema
from dprct.schema.tables import eager

Y = Column("y", bounds=(0.0, 2.0), missing=(".",))
T = Column("t", "byte", levels=(0.0, 1.0), missing=())
X = Column("x", "byte", levels=(1.0, 2.0), missing=())
CODES = encodings(Schema((Y, T, X)), ["t", "x"])


def rows_of(y: list[float], t: list[float]) -> CodedRows:
    frame = eager(pd.DataFrame({"y": y, "t": t, "x": [1.0, 2.0] * (len(y) // 2)}))
    return CodedRows.of(frame, [CODES[1]], Y, 1.0, CODES[0])


def test_every_value_maps_to_something() -> None:
    rows = rows_of([np.nan, np.inf, -5.0, 1.5], [np.nan, 1e300, 0.4, 0.6])
    assert rows.outcome.tolist() == [1.0, 2.0, 0.0, 1.5]
    assert set(rows.treated.tolist()) <= {0.0, 1.0}
    assert rows.treated[1] == 1.0
    assert rows.codes[0].tolist() == [0, 1, 0, 1]


def test_rows_are_taken_by_place() -> None:
    rows = rows_of([0.0, 0.5, 1.0, 1.5], [0.0, 1.0, 0.0, 1.0])
    part = rows.rows(np.array([1, 3]))
    assert part.outcome.tolist() == [0.5, 1.5]
    assert part.treated.tolist() == [1.0, 1.0]
    assert rows.rows(None) is rows


def test_the_doubly_robust_score_is_unbiased_whatever_the_outcome_model() -> None:
    """Both potential outcomes with their probabilities: the mean is the effect."""
    e, y0, y1 = 0.3, 0.5, 1.75
    control, treated = rows_of([y0, y0], [0.0, 0.0]), rows_of([y1, y1], [1.0, 1.0])
    for mu0, mu1 in ((1.0, 1.0), (0.0, 2.0), (0.5, 1.75)):
        mean = (1 - e) * doubly_robust(control, mu0, mu1, e) + e * doubly_robust(
            treated, mu0, mu1, e
        )
        assert mean == pytest.approx([y1 - y0] * 2, abs=1e-5)


def test_a_true_outcome_model_leaves_no_variance() -> None:
    rows = rows_of([0.5, 1.75], [0.0, 1.0])
    assert doubly_robust(rows, 0.5, 1.75, 0.3) == pytest.approx([1.25, 1.25], abs=1e-5)


def test_residuals_give_the_effect_with_their_weights() -> None:
    e, y0, y1 = 0.3, 0.5, 1.75
    mean = (1 - e) * y0 + e * y1
    ratio, weight = residual_ratio(rows_of([y0, y1], [0.0, 1.0]), mean, e)
    assert ratio == pytest.approx([1.25, 1.25], abs=1e-5)
    assert weight == pytest.approx([0.09, 0.49])
