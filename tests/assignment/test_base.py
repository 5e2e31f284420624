"""What every design does: draw, know its propensities, check, describe."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom

import dprct
from dprct.assignment.groups import Design
from dprct.errors import ColumnError, ParameterError

FRAME = pd.DataFrame(
    {
        "region": [1, 1, 1, 1, 1, 2, 2, 2, 3],
        "village": [10, 10, 11, 12, 12, 20, 20, 21, 30],
        "wave": list("ababababa"),
    },
    index=list("ihgfedcba"),
)


def coin(frame, rng):
    return rng.random(len(frame)) < 0.25


DESIGNS = {
    "simple": dprct.Simple(["a", "b"], shares=[0.2, 0.5]),
    "complete": dprct.Complete(["a", "b"], shares=[0.2, 0.5]),
    "counts": dprct.Complete(["a", "b"], counts=[4, 2]),
    "levels": dprct.Complete([0, 1, 2], arm="treat", shares=[0.5, 0.25, 0.25]),
    "block": dprct.Block(["a", "b"], block="region", shares=[0.2, 0.5]),
    "block shares": dprct.Block("a", block="region", shares={1: 0.3, 2: 0.5, 3: 0.9}),
    "cluster": dprct.Cluster(["a", "b"], cluster="village", shares=[0.2, 0.5]),
    "block cluster": dprct.BlockCluster("a", block="region", cluster="village", shares=0.4),
    "factorial": dprct.Factorial(
        [dprct.Block("a", block="region"), dprct.Block("b", block="wave", shares=0.3)]
    ),
    "combined": dprct.Factorial(
        [dprct.Complete("x"), dprct.Cluster("y", cluster="village", shares=0.3)],
        arms={"a": "x", "b": "y", "ab": ["x", "y"]},
    ),
    "custom": dprct.Custom(coin, "a", shares=0.25),
}

every_design = pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)


@every_design
def test_an_assignment_has_exactly_the_treatment_columns(design):
    assigned = design.assign(FRAME, rng=1)
    assert tuple(assigned.columns) == design.columns
    assert assigned.index.tolist() == FRAME.index.tolist()
    assert set(assigned.dtypes) == {np.dtype("float64")}


@every_design
def test_seeds_repeat_and_the_system_does_not(design):
    frame = pd.concat([FRAME.assign(village=FRAME["village"] + k * 100) for k in range(20)])
    one, two = design_for(design, frame, 3), design_for(design, frame, 3)
    assert one.equals(two)
    assert not one.equals(design_for(design, frame, np.random.default_rng(4)))
    assert not design_for(design, frame, None).equals(design_for(design, frame, None))


def design_for(design, frame, rng):
    if getattr(design, "counts", None):
        design = dprct.Complete(["a", "b"], counts=[40, 90])
    return design.assign(frame, rng)


@every_design
def test_drawn_assignments_pass_their_own_check(design):
    rng = np.random.default_rng(5)
    for _ in range(20):
        data = FRAME.join(design.assign(FRAME, rng))
        design.check(data).require()


@pytest.mark.long
@every_design
def test_propensities_are_those_of_the_draws(design):
    draws, rng = 400, np.random.default_rng(6)
    seen = np.zeros((len(FRAME), len(design.groups.names)))
    for _ in range(draws):
        codes = design.groups.codes(design.assign(FRAME, rng))
        seen[np.arange(len(FRAME)), codes] += 1
    chances = design.probabilities(FRAME)
    assert chances.index.tolist() == FRAME.index.tolist()
    assert list(chances.columns) == list(design.groups.names)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert plausible(seen, draws, chances.to_numpy())
    # probabilities that are .15 off are noticed
    assert not plausible(seen, draws, np.clip(chances.to_numpy() + 0.15, 0, 1))


def plausible(seen, draws, chances, alpha=1e-9):
    tails = np.minimum(binom.cdf(seen, draws, chances), binom.sf(seen - 1, draws, chances))
    return bool((tails * 2 * seen.size > alpha).all())


@every_design
def test_designs_are_values(design):
    assert pickle.loads(pickle.dumps(design)) == design
    assert hash(pickle.loads(pickle.dumps(design))) == hash(design)
    assert isinstance(design, Design)
    with pytest.raises(AttributeError):
        design.groups = None


@every_design
def test_designs_describe_themselves_in_a_sentence(design):
    text = design.describe()
    assert str(design) == text
    assert text.endswith(".")
    assert "\n" not in text
    assert all(repr(name) in text for name in (*design.columns, *design.uses))


@every_design
def test_a_frame_without_rows_or_columns_is_refused(design):
    with pytest.raises(ParameterError, match="no rows"):
        design.assign(FRAME.iloc[:0], rng=1)
    if design.uses:
        with pytest.raises(ColumnError, match=repr(design.uses[0])):
            design.assign(FRAME.drop(columns=design.uses[0]), rng=1)


@every_design
def test_check_names_the_columns_that_are_lacking(design):
    problems = list(design.check(FRAME[["wave"]]))
    lacking = [name for name in (*design.columns, *design.uses) if name != "wave"]
    assert problems == [f"the data lack column {name!r}" for name in lacking]


@every_design
def test_check_finds_arms_that_overlap_and_missing_treatments(design):
    data = FRAME.join(design.assign(FRAME, rng=1))
    column = design.columns[0]
    (missing,) = design.check(data.assign(**{column: np.nan}))
    assert missing == f"column {column!r} has missing values, and everybody is in some group"
    (other,) = design.check(data.assign(**{column: 17.0}))
    assert "values that no group has" in other
    assert "17" not in other
    if len(design.columns) > 1 and design is not DESIGNS["factorial"]:
        (overlap,) = design.check(data.assign(**dict.fromkeys(design.columns, 1.0)))
        assert "overlap" in overlap


@pytest.mark.parametrize("rng", ["seed", -1])
def test_what_is_no_seed_is_refused(rng):
    with pytest.raises(ParameterError, match="integer seed"):
        DESIGNS["simple"].assign(FRAME, rng)


def test_other_data_frames_are_assigned_too():
    design = DESIGNS["block cluster"]
    frame = pl.DataFrame(FRAME.reset_index(drop=True))
    expected = design.assign(FRAME, 7).to_numpy().tolist()
    assert design.assign(frame, 7).to_numpy().tolist() == expected
    assert not design.check(frame.with_columns(a=pl.Series(design.assign(frame, 7)["a"])))


def test_declare_shows_the_range_of_propensities():
    assert DESIGNS["block shares"].declare(FRAME).splitlines()[1:] == [
        "  Rows: 9",
        "  Probability of a: 0.3 to 0.9",
        "  Probability of control: 0.1 to 0.7",
    ]
    assert "  Probability of 1: 0.25" in DESIGNS["levels"].declare(FRAME)
