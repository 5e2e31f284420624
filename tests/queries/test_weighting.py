"""Sealed sums of weighted terms: what they are, and that no neighbour moves them further."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dprct.privacy.aggregates import _open
from dprct.queries import weighting as module
from dprct.queries.propensity import Coordinates, Held
from dprct.queries.sums import GRID
from dprct.queries.weighting import HALF, Centre, Records, Scheme, Weighted, influences
from dprct.schema import Column

if TYPE_CHECKING:
    from collections.abc import Callable

ESTIMANDS = ("ate", "att", "atc")
CENTRES = (Centre(), Centre(0.4, -0.7, 0.3, -1.2, 1.5, 0.6))
WEIGHTS = np.array([30.0, 1.0])
CORNERS = list(itertools.product((-1.0, 0.3, 1.0), (False, True), (-1.0, -0.04, 0.01, 1.0)))
"""(y, t, x): weights of 30 trim at x = -1 and 1 and not in between."""


X = Coordinates(Column("x", bounds=(-1.0, 1.0), missing=()))


def weighted_of(
    y: Any, t: Any, Z: Any, weights: Any, noise_sd: float, scheme: Scheme, relation: Any = None
) -> Weighted:
    """Records whose outcomes are rounded to their grid, and whose first coordinate is x."""
    steps = np.rint((np.asarray(y) + 1) * HALF).astype(np.int32)
    rows = Records(steps, t, Held(Z), {X: Z[:, 0] * np.sqrt(2)})
    return Weighted(rows, weights, noise_sd, scheme, relation or "replace-one")


def records(which: list[tuple[float, bool, float]], estimand: Any, relation: Any) -> Weighted:
    y, t, x = (np.array(part) for part in zip(*which, strict=True))
    Z = np.column_stack([x, np.ones(len(x))]) / np.sqrt(2)
    return weighted_of(y, t, Z, WEIGHTS, 0.1, Scheme(estimand, 0.1), relation)


def total_influence(weighted: Weighted, centre: Centre) -> float:
    return sum(float(influences(piece, centre).sum()) for piece in weighted.pieces())


QUERIES: dict[str, Callable[[Weighted], list[Any]]] = {
    "difference": lambda w: [w.difference()],
    "arm_sums": lambda w: [w.arm_sums()],
    "masses": lambda w: [w.masses()],
    "count": lambda w: [w.count()],
    "squares": lambda w: [w.squares(centre) for centre in CENTRES],
    "gradient_norm": lambda w: [w.gradient_norm(centre) for centre in CENTRES],
    "balance": lambda w: list(w.balance(X)),
    "overlap": lambda w: [w.overlap(10)],
}
TIGHT = {"difference", "arm_sums", "count", "overlap", "balance"}


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("estimand", ESTIMANDS)
@pytest.mark.parametrize("relation", ["replace-one", "replace-one-design-public"])
def test_no_pair_of_records_exceeds_the_sensitivity(
    query: str, estimand: str, relation: str
) -> None:
    """A sum differs between neighbours by the terms of one record: all pairs of corners."""
    alone = [QUERIES[query](records([corner], estimand, relation)) for corner in CORNERS]
    reached = 0.0
    for (one, (_, t, _)), (other, (_, s, _)) in itertools.product(
        zip(alone, CORNERS, strict=True), repeat=2
    ):
        if relation != "replace-one" and t != s:
            continue
        for a, b in zip(one, other, strict=True):
            move = np.abs((np.asarray(_open(a)) - np.asarray(_open(b))).astype(float))
            assert move.sum() <= a.l1
            assert np.square(move).sum() <= float(a.l2_squared) * (1 + 1e-12)
            reached = max(reached, move.sum() / a.l1)
    if query in TIGHT and relation == "replace-one":
        assert reached > 0.999
    assert query in ("count", "gradient_norm") or reached > 0.4


@pytest.mark.parametrize(
    ("estimand", "arm"), [("ate", True), ("ate", False), ("att", False), ("atc", True)]
)
def test_the_gradient_of_two_records_reaches_its_sensitivity(estimand: Any, arm: bool) -> None:
    """Odds just inside the trimming, a row of norm one, outcomes at both ends; others as one."""
    sign = -1.0 if arm else 1.0
    Z = np.tile([np.sqrt(0.5), np.sqrt(0.5)], (3, 1))
    weights = sign * (np.log(9) - 1e-9) * Z[0]
    scheme = Scheme(estimand, 0.1)

    def asked(y: float, others: float) -> Any:
        rows = weighted_of([y, others, others], np.full(3, arm), Z, weights, 0.0, scheme)
        return rows.gradient_norm(Centre())

    for others in (-1.0, 1.0):
        (one,), (two,) = (_open(asked(y, others)) for y in (-1.0, 1.0))
        most = float(asked(1.0, others).l1)
        assert 0.999 * most < abs(int(one) - int(two)) <= most


@pytest.mark.parametrize("estimand", ESTIMANDS)
def test_no_record_moves_the_norm_by_more_than_its_sensitivity(estimand: Any) -> None:
    """Vectors of two records are nowhere further apart than what the norm may move."""
    alone = [records([corner], estimand, "replace-one") for corner in CORNERS]
    for centre in CENTRES:
        found = [np.asarray(one._gradient(centre), float) for one in alone]
        most = alone[0].gradient_norm(centre).l1
        assert max(np.linalg.norm(a - b) for a in found for b in found) <= most


def test_extreme_propensities_are_trimmed_to_their_bounds() -> None:
    Z = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    y, t = np.ones(3), np.array([True, False, True])
    for trim in (0.1, 0.02):
        (ate,), (att,), (atc,) = (
            weighted_of(y, t, Z, np.array([50.0, 0.0]), 0.0, Scheme(e, trim)).pieces()  # type: ignore[arg-type]
            for e in ESTIMANDS
        )
        e = np.array([1 - trim, trim, 0.5])
        np.testing.assert_allclose(ate.treated, 1 / e, rtol=1e-12)
        np.testing.assert_allclose(ate.control, 1 / (1 - e), rtol=1e-12)
        np.testing.assert_allclose(att.control, e / (1 - e), rtol=1e-12)
        np.testing.assert_allclose(atc.treated, (1 - e) / e, rtol=1e-12)
        assert (att.treated == 1).all()
        assert (atc.control == 1).all()


def sample(n: int = 400, seed: int = 1) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    Z = np.column_stack([rng.uniform(-1, 1, n), np.ones(n)]) / np.sqrt(2)
    t = rng.random(n) < 0.6
    return rng.uniform(-1, 1, n), t, Z


def value(sealed: Any) -> np.ndarray:
    return np.array([float(int(k) * sealed.grid) for k in _open(sealed)])


W = np.array([1.0, 0.5])


def test_the_sums_are_those_of_the_textbook() -> None:
    y, t, Z = sample()
    e = (1 / (1 + np.exp(-Z @ W))).clip(0.1, 0.9)
    weighted = weighted_of(y, t, Z, W, 0.0, Scheme("ate", 0.1))
    expected = (t * y / e - ~t * y / (1 - e)).sum()
    assert value(weighted.difference())[0] == pytest.approx(expected, abs=1e-2)
    assert (value(weighted.masses()) * 10).sum() == pytest.approx(
        (t / e + ~t / (1 - e)).sum(), rel=1e-4
    )
    att = weighted_of(y, t, Z, W, 0.0, Scheme("att", 0.1))
    expected = (t * y - ~t * y * e / (1 - e)).sum()
    assert value(att.difference())[0] == pytest.approx(expected, abs=1e-2)
    assert value(att.count())[0] == t.sum()
    atc = weighted_of(y, t, Z, W, 0.0, Scheme("atc", 0.1))
    assert value(atc.count())[0] == (~t).sum()
    overlap = value(weighted.overlap(10))
    assert overlap[:10].sum() == t.sum()
    assert overlap.sum() == len(y)


@pytest.mark.parametrize("estimand", ESTIMANDS)
def test_the_gradient_is_the_derivative(estimand: Any) -> None:
    y, t, Z = sample()
    scheme, centre, step = Scheme(estimand, 0.1), Centre(0.2, -0.1, 0.3, 0.1, 1.2, 0.9), 1e-6

    def total(w: np.ndarray) -> float:
        return total_influence(weighted_of(y, t, Z, w, 0.2, scheme), centre)

    weighted = weighted_of(y, t, Z, W, 0.2, scheme)
    found = np.asarray(weighted._gradient(centre), float) * centre.slope(scheme) / HALF
    expected = [(total(W + step * e) - total(W - step * e)) / (2 * step) for e in np.eye(2)]
    np.testing.assert_allclose(found, expected, atol=2e-2)
    (norm,) = value(weighted.gradient_norm(centre))
    assert norm == pytest.approx(np.linalg.norm(expected), abs=2e-2)


def test_squares_are_those_of_the_influences() -> None:
    y, t, Z = sample()
    weighted = weighted_of(y, t, Z, W, 0.0, Scheme("ate", 0.1))
    (piece,) = weighted.pieces()
    expected = np.square(influences(piece, CENTRES[1])).sum()
    assert value(weighted.squares(CENTRES[1]))[0] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("estimand", ESTIMANDS)
def test_no_legal_record_is_clipped(estimand: Any) -> None:
    """The ranges that terms are clipped to are those that they have."""
    for corner in CORNERS:
        alone = records([corner], estimand, "replace-one")
        (piece,) = alone.pieces()
        for centre in CENTRES:
            expected = np.square(influences(piece, centre)).sum()
            found = value(alone.squares(centre))[0]
            assert found == pytest.approx(expected, abs=centre.reach(alone.scheme) ** 2 / GRID)
        phi = np.where(piece.t, piece.treated, -piece.control) * piece.y
        assert value(alone.difference())[0] == pytest.approx(phi[0], abs=alone.scheme.most / GRID)


def test_a_term_outside_its_range_is_clipped_to_it() -> None:
    """What no outcome on its grid gives is checked against the sensitivity all the same."""
    far = weighted_of([50.0], np.array([True]), np.zeros((1, 2)), W, 0.0, Scheme("att", 0.1))
    assert _open(far.difference()).tolist() == [HALF]
    assert _open(far.arm_sums()).tolist() == [HALF, 0]
    assert _open(far.squares(Centre())).tolist() == [GRID]


def test_odds_are_without_bias_from_the_noise() -> None:
    """On average over the noise of the weights the sums are those without it (Lemma 3)."""
    y, t, Z = sample(300)
    rng, s, scheme = np.random.default_rng(5), 0.5, Scheme("ate", 1e-3)
    without = value(weighted_of(y, t, Z, W, 0.0, scheme).difference())[0]
    naive, free = [], []
    for _ in range(4000):
        noisy = W + rng.normal(0, s, 2)
        free.append(value(weighted_of(y, t, Z, noisy, s, scheme).difference())[0])
        naive.append(value(weighted_of(y, t, Z, noisy, 0.0, scheme).difference())[0])
    error = np.std(free) / np.sqrt(len(free))
    assert abs(np.mean(free) - without) < 6.2 * error
    assert abs(np.mean(naive) - without) > abs(np.mean(free) - without)


def test_weights_are_within_their_range_whatever_the_rows() -> None:
    y, t, Z = sample(50)
    for estimand in ESTIMANDS:
        scheme = Scheme(estimand, 0.05)  # type: ignore[arg-type]
        weighted = weighted_of(y, t, Z, np.array([1e9, -1e9]), 1e6, scheme)
        (piece,) = weighted.pieces()
        assert (piece.treated <= scheme.treated_most * (1 + 1e-12)).all()
        assert (piece.control <= scheme.control_most * (1 + 1e-12)).all()
        assert np.isfinite(value(weighted.difference())).all()


def test_a_sum_is_a_sum_of_integers() -> None:
    y, t, Z = sample()
    weighted = weighted_of(y, t, Z, W, 0.0, Scheme("ate", 0.1))
    order = np.random.default_rng(1).permutation(len(y))
    other = weighted_of(y[order], t[order], Z[order], W, 0.0, Scheme("ate", 0.1))
    assert _open(weighted.difference())[0] == _open(other.difference())[0]
    assert weighted.difference().l1 == GRID


@pytest.mark.parametrize("d", [3, 7, 21])
def test_a_term_is_the_same_bits_wherever_its_row_stands(d: int) -> None:
    """Otherwise the order of an engine, which one person may change, moves other people's terms."""
    rng = np.random.default_rng(d)
    Z = rng.uniform(-1, 1, (1_023, d)) / np.sqrt(d)
    weights = rng.normal(size=d) * 3

    def terms(order: Any) -> np.ndarray[Any, Any]:
        found = weighted_of(np.zeros(len(order)), np.ones(len(order), bool), Z[order], weights, 0.1,
                            Scheme("ate", 0.01))  # fmt: skip
        return np.concatenate([piece.treated for piece in found.pieces()])

    there = terms(np.arange(1_023))
    for k in (1, 2, 3, 5, 1_022):
        order = np.roll(np.arange(1_023), k)
        np.testing.assert_array_equal(terms(order), there[order])
    for k in range(0, 1_023, 31):
        assert terms(np.array([k]))[0] == there[k]


def test_pieces_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    y, t, Z = sample(3000)
    whole = weighted_of(y, t, Z, W, 0.1, Scheme("ate", 0.1))
    expected = {name: [list(_open(v)) for v in query(whole)] for name, query in QUERIES.items()}
    monkeypatch.setattr(module, "PIECE", 700)
    cut = weighted_of(y, t, Z, W, 0.1, Scheme("ate", 0.1))
    for name, query in QUERIES.items():
        assert [list(_open(v)) for v in query(cut)] == expected[name], name
    assert len(list(cut.pieces())) == 5
