"""Files on which unrelated columns look related: how often, the gate, and what the file says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct import Column, Schema
from dprct.certificate.certificate import VOID_ERRORS
from dprct.defaults import MOST_SPURIOUS
from dprct.encoding import encodings
from dprct.errors import ConfirmationError
from dprct.privacy.budget import Budget
from dprct.privacy.histograms import SparseHistogram, StabilityHistogram
from dprct.privacy.noise import source
from dprct.release.spurious import _scores, _t, released_share, spurious_share

if TYPE_CHECKING:
    from pathlib import Path

FORMULA = "y ~ t"


def survey(n: int = 1500, seed: int = 1) -> pd.DataFrame:
    """People among whose answers there is no relation."""
    rng = np.random.default_rng(seed)
    levels = {"t": 2, "y": 2, "arm": 3, "mood": 7, "age": 82}
    return pd.DataFrame({name: rng.integers(0, k, n) * 1.0 for name, k in levels.items()})


def schema(*names: str) -> Schema:
    column = {
        "t": Column("t", "byte", levels=(0, 1), missing=()),
        "y": Column("y", "byte", levels=(0, 1), missing=()),
        "arm": Column("arm", "byte", levels=(0, 1, 2), missing=()),
        "mood": Column("mood", "byte", bounds=(0, 6), missing=()),
        "age": Column("age", "byte", bounds=(0, 81), missing=()),
    }
    return Schema(tuple(column[name] for name in names)).declare(
        **{name: {"fate": "modelled"} for name in names}, confirm_header=True
    )


def model(*names: str, n: int = 1500, seed: int = 1) -> dprct.MVHistogram:
    return dprct.MVHistogram(survey(n, seed)[list(names)], schema(*names))


def simulated(n: int, levels: tuple[int, ...], mechanism: Any, draws: int) -> float:
    """Share of significant correlations in tables that are drawn, counted and cut as a release."""
    rng = np.random.default_rng(5)
    cells, alpha = math.prod(levels), math.exp(-1 / mechanism.scale)
    digits = np.array(np.unravel_index(np.arange(cells), levels), float)[:2]
    found = []
    for _ in range(draws):
        counts = rng.multinomial(n, np.full(cells, 1 / cells))
        noisy = counts + rng.geometric(1 - alpha, cells) - rng.geometric(1 - alpha, cells)
        kept = np.where(noisy >= mechanism.threshold, noisy, 0)
        if isinstance(mechanism, StabilityHistogram):
            kept = np.where(counts > 0, kept, 0)
        weight = kept / kept.sum()
        u, v = (d - weight @ d for d in digits)
        r = weight @ (u * v) / math.sqrt((weight @ u**2) * (weight @ v**2))
        found.append(abs(r) * math.sqrt(n / (1 - r**2)) > 1.96)
    return float(np.mean(found))


@pytest.mark.parametrize(
    ("n", "levels", "epsilon", "delta"),
    [
        (1500, (3, 2, 3, 5, 8), 1, 0),
        (1500, (3, 2), 1, 0),
        (1500, (2, 2, 5, 5), 1, 0),
        (10_000, (2, 2, 5, 5, 5), 1, 0),
        (10_000, (2, 2, 5, 5, 5), 1, 1e-5),
    ],
)
def test_the_share_is_that_of_simulated_tables(
    n: int, levels: tuple[int, ...], epsilon: float, delta: float
) -> None:
    """Of 1,000 draws; a standard error is .016 at most, and the law is of many combinations."""
    exact, cells = Budget(epsilon, delta), math.prod(levels)
    mechanism: Any = (
        StabilityHistogram(exact.epsilon, exact.delta, cells)
        if delta
        else SparseHistogram(exact.epsilon, cells, n)
    )
    expected = spurious_share(n, mechanism)
    assert abs(simulated(n, levels, mechanism, 1000) - expected) < 0.06


def test_without_noise_five_in_a_hundred_are_significant() -> None:
    assert spurious_share(10**6, SparseHistogram(100, 6, 10**6)) == pytest.approx(0.05, abs=1e-4)
    assert spurious_share(500, SparseHistogram(1, 10**60, 500)) > 0.9


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dprct.errors.DprctWarning")  # which the plan printed
def test_a_real_release_shows_what_the_plan_says() -> None:
    """Of 60 releases; the share of the plan is .86, its standard error here .045."""
    names = ("t", "y", "arm", "mood", "age")
    spurious = []
    for seed in range(60):
        table = model(*names, seed=seed).fit(1, confirm=True, rng=seed).protected
        if table["t"].nunique() == 2 == table["y"].nunique():
            spurious.append(abs(table["t"].corr(table["y"])) * math.sqrt(1500) > 1.96)
    assert np.mean(spurious) > 0.6
    assert model(*names).plan(1).value("unrelated") == pytest.approx(0.83, abs=0.05)


@pytest.mark.parametrize(
    ("names", "n", "epsilon", "void"),
    [
        (("t", "y"), 1500, 1, False),
        (("t", "y", "arm"), 1500, 1, False),
        (("t", "y", "mood", "arm"), 1500, 1, True),  # 17.9 rows a combination: .10
        (("t", "y", "mood", "arm"), 1500, 2, False),
        (("t", "y", "arm", "mood", "age"), 1500, 1, True),
    ],
)
def test_the_gate(names: tuple[str, ...], n: int, epsilon: float, void: bool) -> None:
    one = model(*names, n=n)
    plan = one.plan(epsilon)
    assert bool(plan.file_note) == bool(plan.refusal) == void
    if void:
        assert "nobody will read effects, errors or p-values off this file" in plan.refusal
        with pytest.raises(ConfirmationError, match="confirm=True, which says that nobody"):
            one.fit(epsilon)
    assert (spurious_share(n, one._allocated(Budget(epsilon))["counts"]) > MOST_SPURIOUS) == void


@pytest.mark.filterwarnings("ignore::dprct.errors.DprctWarning")
def test_what_is_fitted_on_a_void_file_says_so_above_its_table(tmp_path: Path) -> None:
    release = model("t", "y", "arm", "mood", "age").fit(1, confirm=True)
    path = tmp_path / "made.dta"
    certificate = release.write_dta(path)
    assert certificate.limits[0].startswith(VOID_ERRORS)
    (tmp_path / "made.certificate.json").unlink()  # the file says it by itself
    data, described = dprct.read_dta(path)
    for given in (release, path, (data, described), (data[data["arm"] > 0], described)):
        found = dprct.ols(FORMULA, given)
        assert str(found.summary()).startswith(VOID_ERRORS[:40])
        assert VOID_ERRORS in found.to_html().split("<table")[0]
        assert VOID_ERRORS in found.to_latex().split("tabular")[0]
        assert str(found.summary()).count("mean nothing") == 1
    table = dprct.itt_table(release, outcomes=["y"], arms=["t"])
    assert table.to_text(notes=False).startswith(VOID_ERRORS[:40])


def rare(share: float = 0.03, names: str = "ytabcdef", n: int = 20_000) -> dprct.MVHistogram:
    """Independent columns of 0 and 1."""
    rng = np.random.default_rng(1)
    data = pd.DataFrame({name: (rng.random(n) < share) * 1.0 for name in names})
    made = Schema(tuple(Column(name, "byte", levels=(0, 1), missing=()) for name in names))
    made = made.declare(**{name: {"fate": "modelled"} for name in names}, confirm_header=True)
    return dprct.MVHistogram(data, made)


def test_rare_values_pass_the_plan_and_the_released_table_voids_the_file(tmp_path: Path) -> None:
    one = rare()
    plan = one.plan(1)
    assert not plan.refusal
    assert not plan.file_note
    assert any(text.startswith("rare values make unrelated") for text in plan.consequences)
    release = one.fit(1)
    path = tmp_path / "made.dta"
    certificate = release.write_dta(path)
    assert certificate.limits[0].startswith(VOID_ERRORS)
    said = certificate.limits[0]
    assert said in release.summary()
    (tmp_path / "made.certificate.json").unlink()
    found = dprct.ols(FORMULA, path)
    assert (abs(found.params / found.bse) > 1.96).all()  # and the columns are independent
    assert VOID_ERRORS in found.to_latex().split("tabular")[0]
    for given in (release, path):
        assert str(dprct.ols(FORMULA, given).summary()).startswith(VOID_ERRORS[:40])
        table = dprct.itt_table(given, outcomes=["y"], arms=["t"])
        assert table.to_text(notes=False).startswith(VOID_ERRORS[:40])


@pytest.mark.parametrize(
    ("share", "names", "epsilon", "delta", "low", "high"),
    [
        (0.03, "ytabcdef", 1, 0, 0.9, 1),
        (0.03, "ytabcdef", 1, 1e-6, 0.11, 1),
        (0.03, "ytabcdef", 1, 0.1, 0.11, 0.3),  # .75 if empty cells had noise, too
        (0.5, "ytabcdef", 1, 0, 0.045, 0.08),  # the share of the plan is .062
        (0.5, "yt", 1, 0, 0.02, 0.09),
        (0.03, "ytabcdef", 50, 0, 0.03, 0.07),
    ],
)
def test_the_share_at_the_released_frequencies(
    share: float, names: str, epsilon: float, delta: float, low: float, high: float
) -> None:
    one = rare(share, names)
    allocation = one._allocated(Budget(epsilon, delta))
    mechanism: Any = allocation["counts"]
    drawn: Any = one._draw(allocation, source(3))
    found = released_share(drawn, one.facts.encodings, one.n, mechanism)
    assert low <= found <= high
    assert found == released_share(drawn, one.facts.encodings, one.n, mechanism)


def test_the_note_is_a_function_of_the_released_table() -> None:
    """Other people with the same released counts get the same note, whatever their rows are."""
    one, other = rare(), rare(0.4)
    allocation = one._allocated(Budget(1))
    drawn = one._draw(allocation, source(3))
    note = one._file_note(drawn, one.plan(1), allocation)
    assert note.startswith(VOID_ERRORS)
    assert note == other._file_note(drawn, other.plan(1), allocation)
    assert note == one._file_note(one._revived(one._state(drawn)), one.plan(1), allocation)


def test_missing_values_and_dummies_of_arms_are_read_as_a_regression_does() -> None:
    """A code of a missing value is no number, and an arm is a column of 0 and 1."""
    facts: Any = {"fate": "modelled"}
    made = Schema(
        (
            Column("y", "byte", levels=(0, 1), missing=(".",)),
            Column("a", "byte", levels=(0, 1), missing=(), exclusive="arm"),
            Column("b", "byte", levels=(0, 1), missing=(), exclusive="arm"),
        )
    ).declare(y=facts, a=facts, b=facts, confirm_header=True)
    rng = np.random.default_rng(2)
    arm = rng.integers(0, 3, 9000)
    y = np.where(rng.random(9000) < 0.5, np.nan, rng.integers(0, 2, 9000) * 1.0)
    data = pd.DataFrame({"y": y, "a": (arm == 1) * 1.0, "b": (arm == 2) * 1.0})
    one = dprct.MVHistogram(data, made)
    allocation = one._allocated(Budget(1))
    drawn: Any = one._draw(allocation, source(3))
    mechanism: Any = allocation["counts"]
    assert _scores(one.facts.encodings[1]).tolist() == [[0, 1, 0], [0, 0, 1]]
    assert 0.03 < released_share(drawn, one.facts.encodings, one.n, mechanism) < 0.08


def test_the_statistic_is_that_of_the_rows_without_missing_values() -> None:
    """Rows of a two-way table; the last code of the first column is a missing one."""
    column = Column("y", "byte", levels=(0, 1), missing=(".",), fate="modelled")
    (one,) = encodings(Schema((column,)), ("y",))
    table = np.random.default_rng(4).integers(5, 90, (1, 3, 4))
    n = int(table.sum())
    u, v = np.repeat(np.indices((3, 4)).reshape(2, -1), table.ravel(), axis=1)
    r = np.corrcoef(u[u < 2], v[u < 2])[0, 1]
    t = r * math.sqrt(((u < 2).sum() - 2) / (1 - r**2))
    assert _t(table, _scores(one), np.arange(4.0)[None, :], n).item() == pytest.approx(t)


def test_a_file_that_is_not_void_says_nothing() -> None:
    release = model("t", "y").fit(1)
    assert not any(VOID_ERRORS in text for _, _, text in release.schema.file.characteristics)
    assert str(dprct.ols(FORMULA, release).summary()).startswith("Least squares")


def test_whole_numbers_without_bins_get_ten() -> None:
    plan = model("age", "mood").plan(1)
    assert "age: 10 bins" in plan.facts["K"]
    assert "mood: 7" in plan.facts["K"]  # no more numbers than bins
    assert any(text.startswith("age: equal bins by default") for text in plan.consequences)
    drawn = model("age").fit(1, rng=1).protected["age"]
    assert set(drawn % 1) == {0.0}
    assert drawn.nunique() > 60
    declared = schema("age").declare(age={"bins": 82})
    assert "82" in dprct.MVHistogram(survey()[["age"]], declared).plan(1).facts["K"]
    one_way = dprct.Marginals(survey()[["age"]], schema("age"))
    assert "age: 82 levels" in one_way.plan(1).facts["columns"]
