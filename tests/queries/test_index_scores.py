"""Scores of models of an index: what one person can move them by, and that they are right."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.special import expit

from dprct.errors import ModelPicklingError, ParameterError
from dprct.privacy.aggregates import _open
from dprct.queries.group_moments import STEPS, MomentCells, MomentsGrid, Part, Scaled
from dprct.queries.index_scores import COARSER, FINE, ONE, SHIFT, IndexMap, IndexRows, Link, Some
from dprct.queries.kinds import Kinds
from dprct.schema import Column
from dprct.schema.tables import table

NEVER: Any = {"missing": ()}
X = [Column(f"x{j}", bounds=(-8.0, 8.0), **NEVER) for j in range(2)]
Y = Column("y", "byte", levels=(0.0, 1.0), **NEVER)
VISITS = Column("y", bounds=(0.0, 20.0), **NEVER)
CELLS = MomentCells(treatment=("t",), values=((0.0,), (1.0,)))
WEIGHT = STEPS // 2


def grid(outcome: Column = Y) -> MomentsGrid:
    columns = tuple(Scaled(c.name, (Part(c),), (-8.0, 8.0), 0.0, STEPS / 4.0) for c in X)
    low, high = Part(outcome).bounds
    by = STEPS / 2 / (high - low)
    y = Scaled("y", (Part(outcome),), (low, high), (low + high) / 2, by, exempt=True)
    return MomentsGrid((*columns, y), STEPS // 3, count=True)


def asked(family: Any = "logit") -> IndexMap:
    """A constant, treatment as -1 and 1, two covariates."""
    outcome = VISITS if family == "poisson" else Y
    offsets = np.array([[WEIGHT, -WEIGHT, 0, 0], [WEIGHT, WEIGHT, 0, 0]], np.int64)
    loads = np.array([[0, 0, 1, 1]] * 2, np.int64)
    link = Link(family, 20.0 if family == "poisson" else 1.0)
    counts = np.ones(2, bool)
    return IndexMap.within(grid(outcome), link, 2, (-1, -1, 0, 1), offsets, loads, counts)


def frame(rows: Any) -> pl.DataFrame:
    return pl.DataFrame(np.asarray(rows, float), schema=["t", "y", "x0", "x1"])


def rows_of(data: Any, of: IndexMap, clusters: Any = None) -> IndexRows:
    found = grid(VISITS if of.link.family == "poisson" else Y)
    ways = () if clusters is None else (clusters,) if isinstance(clusters, np.ndarray) else clusters
    return IndexRows.of(table(data), found, CELLS, of, "replace-one", 4, ways)


def whole(theta: Any, of: IndexMap) -> list[int]:
    """Coefficients of regressors in steps, from those of regressors as they are."""
    return [int(b) for b in np.rint(np.asarray(theta, float) * FINE * 2.0**SHIFT)]


def opened(aggregate: Any) -> Any:
    return np.array([int(one) for one in _open(aggregate)], dtype=object)


def extreme(rng: np.random.Generator, family: str) -> list[float]:
    """A row that is anywhere, often at the surface of the ball, with any outcome."""
    y = rng.integers(0, 2) * (20.0 if family == "poisson" else 1.0)
    scale = 10.0 ** rng.integers(-1, 2)
    return [float(rng.integers(0, 2)), float(y), *(rng.normal(size=2) * scale).clip(-8, 8)]


@pytest.mark.long
@pytest.mark.parametrize("family", ["logit", "probit", "cloglog", "poisson"])
def test_no_person_moves_scores_or_information_further_and_some_as_far(family: str) -> None:
    """Met by rows next to each other where the index jumps between its ends."""
    rng, of = np.random.default_rng(3), asked(family)
    base = [[0, 0, 0.3, -1], [1, 1, 5, 5], [1, 0, 0, 0]]
    most = {"scores": Fraction(0), "information": Fraction(0)}
    claims = {"scores": of.score_squared, "information": of.information_squared}
    for trial in range(60):
        steep = trial % 2
        theta = rng.normal(size=4) / STEPS * (200 if steep else 1)
        one = extreme(rng, family)
        other = extreme(rng, family)
        if trial % 4 == 1:  # the same place, on both sides of a step of the index
            theta = np.array([0, 0, 1.0, 0])
            top = 20.0 if family == "poisson" else 1.0
            one, other = [1.0, top, -1e-3, 7.9], [1.0, 0.0, 1e-3, 7.9]
        if trial % 4 == 3:  # as long as can be, at the middle of the index, at right angles
            theta = np.zeros(4)
            one, other = [1.0, 0, 7.9, 0], [0.0, 0, 0, 7.9]
            if family == "poisson":
                theta = np.array([40.0, 0, 0, 0]) / STEPS
        coefficients = whole(theta, of)
        pair = [rows_of(frame([*base, row]), of) for row in (one, other)]
        for name, claim in claims.items():
            found = [opened(getattr(rows, name)(coefficients)) for rows in pair]
            distance = sum(int(x) ** 2 for x in found[0] - found[1])
            assert distance <= claim
            most[name] = max(most[name], Fraction(distance, claim))
    # a cloglog has residuals of -3 to 1, and no row at the opposite end
    assert most["scores"] > Fraction(4 if family == "cloglog" else 8, 10)
    assert most["information"] > Fraction(1, 2)


@pytest.mark.long
@pytest.mark.parametrize("clusters", [None, [1, 2, 1, 1]])
def test_no_person_moves_squares_further_and_some_as_far(clusters: Any) -> None:
    rng, of = np.random.default_rng(4), asked()
    cluster = () if clusters is None else (3,)
    codes = None if clusters is None else np.array(clusters)
    claim = of.square_sensitivity(cluster, of.size)
    most = Fraction(0)
    for _ in range(60):
        directions = rng.integers(-1 << 20, 1 << 20, (4, 4)).astype(np.int64)
        coefficients = whole(rng.normal(size=4) / STEPS * 20, of)
        base = [extreme(rng, "logit") for _ in range(3)]
        pair = [extreme(rng, "logit") for _ in range(2)]
        if cluster:  # alike in a cluster that is as long as can be, and one of it turns round
            row = extreme(rng, "logit")
            pair = [row, [row[0], 1 - row[1], *row[2:]]]
            base = [row, base[0], row]
        found = [
            opened(rows_of(frame([*base, one]), of, codes).squares(
                coefficients, directions, 1e3, cluster))
            for one in pair
        ]  # fmt: skip
        distance = sum(int(x) ** 2 for x in found[0] - found[1])
        assert distance <= claim
        most = max(most, Fraction(distance, claim))
    assert most > (Fraction(8, 10) if clusters is None else Fraction(4, 10))


@pytest.mark.parametrize("family", ["logit", "probit", "cloglog", "poisson"])
def test_sums_are_those_of_plain_numbers(family: str) -> None:
    rng, of = np.random.default_rng(5), asked(family)
    top = 20 if family == "poisson" else 1
    data = [[1, top, 0.4, -1], [0, 0, 1, 0.3], [1, 0, -0.5, 0.5], [0, top, 0.1, 1]]
    v = np.array([[WEIGHT, (2 * t - 1) * WEIGHT, *np.floor(np.array(x) * STEPS / 4 + 0.5)]
                  for t, _, *x in data])  # fmt: skip
    y = np.array([row[1] for row in data])
    theta = rng.normal(size=4) / STEPS
    index = v @ theta
    if family == "poisson":
        e, w = (y - np.exp(index)) / 20, np.exp(index) / 20
    elif family == "logit":
        e, w = y - expit(index), expit(index) * expit(-index)
    else:
        p, d = stats.norm.cdf(index), stats.norm.pdf(index)
        if family == "cloglog":
            p, d = -np.expm1(-np.exp(index)), np.exp(index - np.exp(index))
        e, w = (y - p) * d / (p * (1 - p)), d * d / (p * (1 - p))
    rows, coefficients = rows_of(frame(data), of), whole(theta, of)
    np.testing.assert_allclose(opened(rows.scores(coefficients)).astype(float) / ONE, v.T @ e,
                               atol=60)  # fmt: skip
    information = opened(rows.information(coefficients)).astype(float).reshape(4, 4)
    np.testing.assert_allclose(information * 2.0**COARSER / ONE, (v.T * w) @ v, rtol=1e-2,
                               atol=1e5)  # fmt: skip
    directions = np.eye(4, dtype=np.int64)
    found = opened(rows.squares(coefficients, directions, 1e-2 / ONE)).astype(float).reshape(4, 4)
    np.testing.assert_allclose(found, (v.T * (e * 1e-2) ** 2) @ v, rtol=1e-2, atol=2e3)
    summed = opened(rows_of(frame(data), of, np.array([1, 1, 1, 1])).squares(
        coefficients, directions, 1e-2 / ONE, [2]))  # fmt: skip
    total = v.T @ e * 1e-2
    np.testing.assert_allclose(summed.astype(float).reshape(4, 4), np.outer(total, total),
                               rtol=1e-2, atol=2e3)  # fmt: skip


WAYS = tuple(map(np.array, ([1, 1, 2, 2], [1, 2, 1, 2], [1, 2, 3, 4])))


def moved_in_two_ways(trials: int, times: Any = (2, 2, 1)) -> float:
    """The largest move of squares of clusters in two ways over what is claimed."""
    rng, of, most = np.random.default_rng(9), asked(), 0.0
    claim = of.square_sensitivity(times, of.size)
    for _ in range(trials):
        row = extreme(rng, "logit")
        pair = [row, [row[0], 1 - row[1], *row[2:]]]
        directions = rng.integers(-1 << 20, 1 << 20, (4, 4)).astype(np.int64)
        coefficients = whole(rng.normal(size=4) / STEPS * 5, of)
        found = [
            opened(rows_of(frame([row, row, row, one]), of, WAYS).squares(
                coefficients, directions, 1e3, times))
            for one in pair
        ]  # fmt: skip
        most = max(most, sum(int(x) ** 2 for x in found[0] - found[1]) / claim)
    return most


def test_no_person_moves_clusters_in_two_ways_further(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person turns round beside one of each way: 4 + 4 of 9.7; planted: the claim for one way."""
    assert 0.5 < moved_in_two_ways(30) ** 0.5 <= 1
    # two rows of a cluster that may be as long as one of them: 2 of 4.2, and 8 if it were longer
    assert 0.4 < moved_in_two_ways(30, (1, 1, 1)) ** 0.5 <= 1
    right = IndexMap.square_sensitivity
    monkeypatch.setattr(
        IndexMap, "square_sensitivity", staticmethod(lambda ways, k: right(ways[:1], k))
    )
    assert moved_in_two_ways(30) > 1


def test_links_are_the_same_wherever_they_are_computed() -> None:
    """No entry is so near a half that a function that is right to 1e-13 rounds it otherwise."""
    index = np.arange(-16 * FINE, 16 * FINE + 1) / FINE
    u = np.minimum(np.exp(index), 3)
    for values in (expit(index), expit(index) * expit(-index), np.minimum(np.exp(index) / 20, 1),
                   u / np.expm1(u), u * u / np.expm1(u), u):  # fmt: skip
        scaled = values * ONE
        away = np.abs(scaled - np.floor(scaled) - 0.5)
        assert away.min() > 2e-8
        assert values.max() <= 3


@pytest.mark.parametrize("engine", ["pandas", "lazy", "DuckDB"])
def test_engines_have_the_same_bits(engine: str) -> None:
    rng, of = np.random.default_rng(6), asked()
    data = frame([extreme(rng, "logit") for _ in range(4)])
    other: Any = data.to_pandas() if engine == "pandas" else data.lazy()
    if engine == "DuckDB":
        connection = duckdb.connect()
        connection.register("rows", data.to_arrow())
        other = connection.sql("select * from rows order by hash(columns(*))")
    coefficients = whole(rng.normal(size=4) / STEPS, of)
    for name in ("scores", "information"):
        one, two = (opened(getattr(rows_of(d, of), name)(coefficients)) for d in (data, other))
        assert one.tolist() == two.tolist()


def test_what_is_no_model_of_an_index_is_refused() -> None:
    of, data = asked(), frame([[0, 1, 0, 0]] * 4)
    rows = rows_of(data, of)
    with pytest.raises(ModelPicklingError):
        pickle.dumps(rows)
    with pytest.raises(ParameterError, match="too long or too few"):
        rows.scores([1])
    with pytest.raises(ParameterError, match="times those of rows"):
        rows.squares([0] * 4, np.eye(4, dtype=np.int64), 1.0, [2])
    with pytest.raises(ParameterError, match="whole numbers up to"):
        rows.squares([0] * 4, np.full((4, 4), 1 << 31), 1.0)
    with pytest.raises(ParameterError, match="rows as public"):
        IndexRows.of(table(data), grid(), CELLS, of, "add-remove", 4)
    loads = np.array([[0, 0, 9, 9]] * 2, np.int64)
    with pytest.raises(ParameterError, match="too long together"):
        IndexMap.within(grid(), of.link, 2, of.columns, of.offsets, loads, of.counts)


G = Column("g", "byte", levels=(0.0, 1.0), **NEVER)
U = Column("u", bounds=(0.0, 4.0), missing=(".",))


def choosing(weighted: bool) -> IndexMap:
    """Those with g of 1, perhaps with weights."""
    kinds = Kinds.of(("g == 1",), {"g": G})
    return replace(asked(), some=Some(kinds, kinds.holds("g == 1"), U if weighted else None))


def some_rows(data: Any, of: IndexMap) -> IndexRows:
    names = ["t", "y", "x0", "x1", "g", "u"]
    whole_frame = pl.DataFrame(np.asarray(data, float), schema=names)
    return IndexRows.of(table(whole_frame), grid(), CELLS, of, "replace-one", len(data))


def moves(of: IndexMap, trials: int) -> float:
    """The largest move of scores, information or squares over what is claimed."""
    rng, found = np.random.default_rng(8), 0.0
    base = [[0, 0, 0.3, -1, 1, 4], [1, 1, 5, 5, 1, 1], [1, 0, 0, 0, 0, 4]]
    directions = rng.integers(-1 << 20, 1 << 20, (4, 4)).astype(np.int64)
    for trial in range(trials):
        theta = np.array([0, 0, 1.0, 0]) if trial % 2 else rng.normal(size=4) / STEPS * 20
        ends = [[1.0, 1.0, -1e-3, 7.9], [1.0, 0.0, 1e-3, 7.9]]
        rows = ends if trial % 2 else [extreme(rng, "logit") for _ in range(2)]
        pair = [
            some_rows([*base, [*row, float(rng.random() < 0.7), rng.choice([0, 0.01, 4, np.nan])]],
                      of)
            for row in rows
        ]  # fmt: skip
        coefficients = whole(theta, of)
        for name, claim, more in (
            ("scores", of.score_squared, ()),
            ("information", of.information_squared, ()),
            ("squares", of.square_sensitivity((), of.size), (directions, 1e3)),
        ):
            one, two = (opened(getattr(each, name)(coefficients, *more)) for each in pair)
            distance = sum(int(x) ** 2 for x in one - two)
            found = max(found, distance / claim)
    return found


@pytest.mark.parametrize("weighted", [False, True])
def test_who_comes_or_goes_or_weighs_otherwise_moves_no_more(
    weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = choosing(weighted)
    assert 0.9 < moves(of, 60) <= 1
    right = IndexMap.each.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(IndexMap, "each", property(lambda one: 2 * right(one)))
    assert moves(of, 60) > 1.2


def test_numbers_beside_scores_are_of_rows_that_count_and_of_weights() -> None:
    data = [[1, 1, 0.4, -1, 1, 4], [0, 0, 1, 0.3, 0, 4], [1, 0, -0.5, 0.5, 1, 1],
            [0, 1, 0.1, 1, 1, np.nan]]  # fmt: skip
    for weighted, rows, load in ((False, 3, None), (True, 2, 1.25)):
        of = choosing(weighted)
        found = opened(some_rows(data, of).scores([0] * 4)).astype(float)
        assert len(found) == 4 + of.numbers
        np.testing.assert_allclose(found[4:] / of.each, [rows, load][: of.numbers], rtol=1e-6)
        v = np.array([[WEIGHT, WEIGHT, *np.floor(np.array(x) * STEPS / 4 + 0.5)]
                      for x in ([0.4, -1], [-0.5, 0.5])])  # fmt: skip
        wanted = v.T @ np.array([0.5, -0.5 / 4]) if weighted else None
        if wanted is not None:
            np.testing.assert_allclose(found[:4] / ONE, wanted, atol=60)
