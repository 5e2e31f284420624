from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dprct.encoding import encodings
from dprct.errors import ParameterError
from dprct.privacy.accountant import Accountant
from dprct.privacy.aggregates import cell_count
from dprct.privacy.histograms import SparseHistogram, StabilityHistogram
from dprct.privacy.noise import source
from dprct.queries.counts import cell_counts
from dprct.release.histogram import MVHistogram
from dprct.schema import Column, Schema, Unit
from dprct.schema.tables import eager
from tests.statistical.auditing import AuditResult, lower_bound

if TYPE_CHECKING:
    from collections.abc import Callable

ALPHA = 1e-9
LEVELS: dict[str, Any] = {"levels": [0, 1, 2], "missing": "never", "fate": "modelled"}


def tiny(*, max_rows: int = 1) -> Schema:
    """One column of three levels, and (for several rows of one unit) an id that is dropped."""
    unit = Unit("person", "id", max_rows) if max_rows > 1 else Unit()
    return Schema((Column("x", "byte"), Column("id", "int"))).declare(
        x=LEVELS, id={"fate": "drop"}, unit=unit
    )


def rows(*values: float) -> pd.DataFrame:
    return pd.DataFrame({"x": list(map(float, values)), "id": np.arange(len(values)) * 1.0})


def wide(n: int = 1000, columns: int = 3, **facts: Any) -> tuple[pd.DataFrame, Schema]:
    names = [f"v{k}" for k in range(columns)]
    fact = {"bounds": (0, 99), "bins": 10, "missing": "never", "fate": "modelled", **facts}
    schema = Schema(tuple(Column(name, "int") for name in names)).declare(
        **dict.fromkeys(names, fact)
    )
    values = np.random.default_rng(1).integers(0, 100, (n, columns)).astype(float)
    return pd.DataFrame(values, columns=names), schema


def test_the_plan_is_a_function_of_public_facts() -> None:
    data, schema = wide()
    model = MVHistogram(data, schema)
    plan = model.plan(1)
    assert plan == MVHistogram(data * 0, schema).plan(1)
    threshold = SparseHistogram(1, 1000, 1000).threshold
    assert cell_count(model.facts.sizes) == 1000
    assert plan.facts["K"].startswith("1,000 cells (v0: 10 bins; v1")
    assert plan.value("t") == threshold
    assert plan.value("n / K") == 1
    text = str(plan)
    assert f"fewer than about {threshold} rows disappears" in text
    assert (
        f"with 1,000 rows, few more than {1000 // threshold} combinations can be expected" in text
    )


def test_a_threshold_of_one_row_is_not_said_to_drop_fewer() -> None:
    plan = MVHistogram(*wide(columns=1)).plan(1)
    assert plan.value("t") == 1
    assert plan.consequences[0] == "a combination of a few rows may disappear"


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_the_plan_never_expects_more_combinations_than_there_are(columns: int) -> None:
    data, schema = wide(1000, columns=columns)
    model = MVHistogram(data, schema)
    expected = [text for text in model.plan(1).consequences if "combinations can" in text]
    few = 1000 // SparseHistogram(1, cell_count(model.facts.sizes), 1000).threshold
    if cell_count(model.facts.sizes) > few:
        assert expected == [
            f"with 1,000 rows, few more than {few} combinations can be expected to survive (noise "
            "can lift a smaller count)"
        ]
    else:
        assert expected == [f"all {cell_count(model.facts.sizes)} combinations can survive"]


def test_the_plan_says_what_to_change() -> None:
    data, schema = wide(20)
    plan = MVHistogram(data, schema).plan(0.5)
    for text in (plan.warnings[0], plan.refusal):
        for advice in ("fewer bins", "fewer columns", "larger epsilon", "Marginals"):
            assert advice in text
    assert "or give confirm=True, which says that nobody will read effects" in plan.refusal


@pytest.mark.parametrize(("n", "refused"), [(500, False), (20, True)])
def test_refusal_begins_where_fewer_than_five_combinations_can_survive(
    n: int, refused: bool
) -> None:
    data, schema = wide(n)
    model = MVHistogram(data, schema)
    t = SparseHistogram(1, 1000, n).threshold
    plan = model.plan(1)
    assert (n / t < 5) is refused
    assert bool(plan.refusal) is (refused or n / 1000 < t)
    assert bool(plan.warnings) is (n / 1000 < t)


def test_delta_buys_the_stability_form() -> None:
    data, schema = wide(4000, columns=2)
    model = MVHistogram(data, schema)
    plan = model.plan(1, 1e-6)
    assert plan.value("t") == StabilityHistogram(1, 1e-6, 100).threshold
    assert "occupied cells" in plan.facts["noise"]
    assert not any("nobody has" in text for text in plan.consequences)
    release = model.fit(3, 1e-6)
    assert release.guarantee.measure == "approximate"
    frame, original = (
        {tuple(row) for row in (table.to_numpy() // 10).astype(int)}
        for table in (release.protected, data)
    )
    assert frame <= original  # no cell that nobody is in


@pytest.mark.parametrize("zeta", [0, 1, -0.5, float("nan"), "2/3", True, None])
def test_zeta(zeta: Any) -> None:
    data, schema = wide(bounds=(0, 99), bins=3)
    if zeta is None:
        assert MVHistogram(data, schema, zeta=None).facts.sizes == (3, 3, 3)
        return
    with pytest.raises(ParameterError, match="zeta"):
        MVHistogram(data, schema, zeta=zeta)


def test_zeta_gives_bins_to_columns_without_any() -> None:
    schema = Schema((Column("y"), Column("w"))).declare(
        y={"bounds": (0, 1), "missing": "never", "fate": "modelled"},
        w={"bounds": (0, 1), "bins": 4, "missing": ["."], "fate": "modelled"},
    )
    data = pd.DataFrame({"y": np.linspace(0, 1, 947), "w": np.linspace(0, 1, 947)})
    assert MVHistogram(data, schema, zeta=2 / 3).facts.sizes == (97, 5)


def test_the_state_is_the_released_list_and_nothing_else() -> None:
    data, schema = wide(5000, columns=2)
    accountant = Accountant(1)
    MVHistogram(data, schema).fit(1, accountant=accountant)
    state = accountant.recover(accountant.ledger[0].id)
    assert isinstance(state, dict)
    assert set(state) == {"drawn", "study"}
    drawn = state["drawn"]["fields"]
    assert set(drawn) == {"radices", "threshold", "codes", "counts", "simulation"}
    assert min(drawn["counts"]["values"]) >= drawn["threshold"]
    rows = np.reshape(drawn["codes"]["values"], drawn["codes"]["shape"]).tolist()
    assert rows == sorted(rows)


def test_strong_counts_survive_and_the_distribution_is_theirs() -> None:
    data, schema = rows(*([0.0] * 700 + [2.0] * 300)), tiny()
    for _ in range(20):
        table = MVHistogram(data, schema).fit(1).protected
        counts = Counter(table["x"])
        assert set(counts) <= {0.0, 1.0, 2.0}
        assert abs(counts[0.0] - 700) < 120  # noise of scale 2: 3e-14 per cell beyond 60


def test_a_table_whose_cells_all_vanish_becomes_uniform() -> None:
    fact = {"bounds": (0, 32_000), "bins": 32_001, "missing": "never", "fate": "modelled"}
    names = ["a", "b", "c", "d"]
    schema = Schema(tuple(Column(n, "int") for n in names)).declare(**dict.fromkeys(names, fact))
    data = pd.DataFrame(dict.fromkeys(names, np.arange(300.0)))
    model = MVHistogram(data, schema)
    with pytest.warns(UserWarning, match="below t"):
        table = model.fit(50, confirm=True).protected
    assert model._allocated(model.plan(50).budget)["counts"].threshold > 1
    for name in names:
        assert stats.kstest(table[name], stats.uniform(0, 32_000).cdf).pvalue > ALPHA


# The whole strict fit on a domain of three cells: the law of the released state, cell by cell, is
# that of discrete Laplace noise on its count, above the threshold.


def releases(data: pd.DataFrame, schema: Schema, epsilon: float, count: int) -> np.ndarray:
    """Return the released counts (count, 3) through the fit's own query and mechanism."""
    model = MVHistogram(data, schema)
    counts = cell_counts(eager(data), encodings(schema, ["x"]))
    mechanism = model._allocated(model.plan(epsilon).budget)["counts"]
    noise = source()
    out = np.zeros((count, 3))
    for k in range(count):
        drawn = mechanism.release(counts, noise)
        out[k, drawn.codes[:, 0]] = drawn.counts
    return out


def fitted(data: pd.DataFrame, schema: Schema, epsilon: float, count: int) -> np.ndarray:
    """Return the released counts (count, 3) from the state that the whole fit saves."""
    model = MVHistogram(data, schema)
    out = np.zeros((count, 3))
    for k in range(count):
        accountant = Accountant(epsilon)
        model.fit(epsilon, accountant=accountant, confirm=True)
        state: Any = accountant.recover(accountant.ledger[0].id)
        drawn: Any = model._revived(state)
        out[k, drawn.codes[:, 0]] = drawn.counts
    return out


def table(zeros: int, ones: int) -> pd.DataFrame:
    """Return 100 rows or so; the two persons who differ between tables come first."""
    return rows(*([0] * (zeros - 48) + [1] * (ones - 50) + [0] * 48 + [1] * 50))


FIRST, NEIGHBOUR, TWO_MOVED = table(50, 50), table(49, 51), table(48, 52)


def score(counts: np.ndarray) -> np.ndarray:
    """Return what tells the neighbours apart best: one count not below, the other not above.

    Both happen at 0 or more; there the likelihood ratio is exp(epsilon), the claim itself.
    """
    return np.minimum(counts[:, 0] - 50, 50 - counts[:, 1])


@pytest.mark.long
@pytest.mark.parametrize(("draw", "size"), [(releases, 4000), (fitted, 400)])
def test_every_cell_has_its_exact_law(
    draw: Callable[[pd.DataFrame, Schema, float, int], np.ndarray], size: int
) -> None:
    drawn = draw(rows(*([0] * 60 + [1] * 40)), tiny(), 1.0, size)
    t = SparseHistogram(1, 3, 100).threshold
    for cell, true in enumerate((60, 40, 0)):
        values = range(max(t, true - 4), true + 5)
        column = drawn[:, cell]
        observed = [int((column == k).sum()) for k in values]
        observed += [int((column > true + 4).sum())]
        observed += [size - sum(observed)]
        assert fit_of(observed, values, true, 1.0) > ALPHA
        if size > 1000 and true:
            assert fit_of(observed, values, true, 1.5) < ALPHA
            assert fit_of(observed, values, true + 1, 1.0) < ALPHA


def fit_of(observed: list[int], values: range, true: int, epsilon: float) -> float:
    """Return the p-value of counts against discrete Laplace noise around ``true``."""
    a = math.exp(-epsilon / 2)
    expected = [(1 - a) / (1 + a) * a ** abs(k - true) for k in values]
    expected.append(a ** (values[-1] + 1 - true) / (1 + a))
    expected.append(1 - sum(expected))
    return float(stats.chisquare(observed, np.array(expected) * sum(observed)).pvalue)


def audited(
    first: pd.DataFrame, second: pd.DataFrame, schema: Schema, epsilon: float, size: int = 8000
) -> AuditResult:
    """Return the certified bound from ``size`` releases of each table; wrong once in 1e9."""
    draws = [score(releases(data, schema, epsilon, size)) for data in (first, second)]
    return lower_bound(*draws, alpha=ALPHA)


@pytest.mark.long
def test_a_fit_keeps_its_claim_and_needs_most_of_it() -> None:
    found = audited(FIRST, NEIGHBOUR, tiny(), 2.0)
    assert not found.refutes(2.0)
    assert found.epsilon > 1.3


@pytest.mark.long
def test_a_fit_with_half_the_noise_would_be_caught() -> None:
    assert audited(FIRST, NEIGHBOUR, tiny(), 4.0).refutes(2.0)


@pytest.mark.long
def test_a_person_with_two_rows_is_protected_as_a_whole() -> None:
    ids = [0.0, 0.0, *range(1, 99)]
    tables = [data.assign(id=ids) for data in (FIRST, TWO_MOVED)]
    found = audited(*tables, tiny(max_rows=2), 2.0)
    assert not found.refutes(2.0)
    assert found.epsilon > 1.1
    assert audited(FIRST, TWO_MOVED, tiny(), 2.0).refutes(2.0)  # one row each: half the noise


@pytest.mark.audit
def test_the_whole_fit_reaches_four_fifths_of_its_claim() -> None:
    draws = [score(fitted(data, tiny(), 2.0, 25_000)) for data in (FIRST, NEIGHBOUR)]
    assert 0.8 * 2.0 <= lower_bound(*draws, alpha=1e-6).epsilon <= 2.0


@pytest.mark.audit
def test_the_stability_form_keeps_its_delta() -> None:
    """A lone row in a cell that the neighbour does not have is seen with probability delta."""
    epsilon, delta, size = 1.0, 0.02, 40_000
    seen = []
    for values in ((0, 0, 0, 0, 2), (0, 0, 0, 0, 0)):
        model = MVHistogram(rows(*values), tiny())
        counts = cell_counts(eager(rows(*values)), model.facts.encodings)
        mechanism = model._allocated(model.plan(epsilon, delta).budget)["counts"]
        codes = [mechanism.release(counts, source()).codes[:, 0] for _ in range(size)]
        seen.append(np.array([(2 in code) for code in codes], float))
    attained = StabilityHistogram(epsilon, delta, 3).delta_attained
    assert seen[1].sum() == 0
    assert abs(seen[0].mean() - attained) < 6.2 * math.sqrt(attained / size)
    assert not lower_bound(*seen, delta=delta, alpha=1e-6).refutes(epsilon)
