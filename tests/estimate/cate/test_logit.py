"""A logit for propensities: what its moments move by, and that it finds the log odds."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from dprct import CATE
from dprct.errors import ParameterError
from dprct.estimate.additive.terms import terms_of
from dprct.estimate.cate.logit import LogOdds, TreatmentSums, treatment_layout
from dprct.estimate.cate.release import LearnerForm, released
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source
from dprct.queries.additive import CodedRows
from dprct.queries.treatment_moments import STEPS, TreatmentMoments
from dprct.schema import Schema

PARTS = {"propensity": 20_000, "outcome": 5_000, "effect": 15_000}


def rows_of(x1: object, town: object, t: object) -> CodedRows:
    codes = [np.atleast_1d(np.asarray(c, np.int32)) for c in (x1, town)]
    return CodedRows(codes, np.zeros(len(codes[0])), np.atleast_1d(np.asarray(t, float)))


def moved(layout: TreatmentMoments, one: CodedRows, other: CodedRows) -> int:
    """Square of what the moments move by."""
    sums = []
    for rows in (one, other):
        v = next(layout._records(rows)).astype(np.int64)
        sums.append((v.T @ v)[np.triu_indices(layout.width)].tolist())
    return sum((a - b) ** 2 for a, b in zip(*sums, strict=True))


def worst(layout: TreatmentMoments) -> float:
    """The largest move over what is claimed, of all pairs of rows."""
    everyone = [rows_of(*who) for who in itertools.product(range(5), range(2), (0, 1))]
    found = max(moved(layout, one, other) for one in everyone for other in everyone)
    return found / layout.l2_squared


def test_no_pair_of_rows_moves_the_moments_by_more(schema: Schema) -> None:
    layout = treatment_layout(terms_of(schema, ["x1", "town"], bins=5))
    assert 0.6 < worst(layout) <= 1


def test_a_smaller_bound_would_be_found_out() -> None:
    """Without the diagonal (M^4) the bound is nearly attained between two axes."""
    axes = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1], [0, 0]])
    layout = TreatmentMoments.of((axes,))
    assert layout.l2_squared == pytest.approx(STEPS**4 * 29 / 16, rel=1e-3)
    assert 0.7 < worst(layout) <= 1


def test_moments_are_those_of_numpy(schema: Schema) -> None:
    terms = terms_of(schema, ["x1", "town"], bins=5)
    layout, rng = treatment_layout(terms), np.random.default_rng(1)
    rows = rows_of(rng.integers(0, 5, 3000), rng.integers(0, 2, 3000), rng.integers(0, 2, 3000))
    z = np.column_stack([terms.points(0)[rows.codes[0]], rows.codes[1] == 1]) / 2
    v = np.column_stack([z, np.full(3000, math.sqrt(0.5)), rows.treated - 0.5])
    found = sum(part.T @ part for part in layout._records(rows)) / STEPS**2
    assert np.abs(found - v.T @ v).max() < 3000 / STEPS


def test_log_odds_are_found_without_noise(schema: Schema) -> None:
    terms = terms_of(schema, ["x1", "town"], bins=5)
    layout, rng = treatment_layout(terms), np.random.default_rng(2)
    x1, town = rng.integers(0, 5, 200_000), rng.integers(0, 2, 200_000)
    index = 0.9 * terms.points(0)[x1] + 0.6 * town - 0.5
    rows = rows_of(x1, town, rng.random(200_000) < expit(index))
    moments = sum(part.T @ part for part in layout._records(rows)) / STEPS**2
    fit = LogOdds(terms, TreatmentSums(np.asarray(moments), 200_000, 1e-9), 0.1)
    assert np.abs(fit.at(rows.codes) - expit(index)).max() < 0.02
    table = fit.table().set_index(["term", "level"])["shape"]
    assert table["log odds by town", "south"] - table["log odds by town", "north"] == pytest.approx(
        0.6, abs=0.06
    )


def test_an_effect_is_found_with_its_propensities(schema: Schema) -> None:
    terms = terms_of(schema, ["x1", "town"], bins=5)
    form = LearnerForm("dr", terms, PARTS, (-4.0, 4.0), 8.0, None, 0.1, "logit")
    rng, n = np.random.default_rng(3), 40_000
    x1, town = (rng.integers(0, k, n).astype(np.int32) for k in (5, 2))
    t = (rng.random(n) < expit(0.5 * (x1 - 2))).astype(float)
    y = 0.5 * x1 - 1 + t * (1 - x1 / 2 + town) + rng.normal(0, 0.3, n)
    rows = CodedRows([x1, town], np.clip(y, -4, 4), t)
    drawn = released(form, form.allocation(Budget.asked(20, 1e-2)), rows, source(3))
    found = form.fits(drawn)["effect"].at([np.arange(5, dtype=np.int32), np.zeros(5, np.int32)])
    assert found == pytest.approx(1 - np.arange(5) / 2, abs=0.25)
    assert form.propensity.startswith("estimated by a logit")


def test_a_logit_of_mostly_noise_is_warned_of(schema: Schema) -> None:
    terms = terms_of(schema, ["x1", "town"], bins=5)
    form = LearnerForm("dr", terms, PARTS, (-4.0, 4.0), 8.0, None, 0.1, "logit")
    allocation = form.allocation(Budget.asked(0.001, 1e-6))
    assert "propensity_model='additive'" in form.warnings(allocation)[0]
    assert form.warnings(form.allocation(Budget.asked(5, 1e-6))) == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [({"learner": "t"}, "learner='t'.* needs none"), ({"propensity": 0.5}, "it is known here")],
)
def test_a_model_of_a_propensity_that_is_not_estimated_is_refused(
    schema: Schema, options: dict[str, Any], words: str
) -> None:
    rows = pd.DataFrame({"x1": [0.0, 1.0] * 20, "got": [0.0, 0.0, 1.0, 1.0] * 10, "y": 0.5})
    facts: dict[str, Any] = {name: {"levels": [0, 1], "missing": "never"} for name in ("x1", "got")}
    facts["y"] = {"bounds": (0, 1), "missing": "never"}
    known = Schema.from_frame(rows).declare(**facts).seal()
    with pytest.raises(ParameterError, match=words):
        CATE(rows, known, outcome="y", treatment="got", features=["x1"],
             propensity_model="logit", **options)  # fmt: skip
