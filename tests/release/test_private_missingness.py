"""Who has a value is private: the file has missing values of its own, drawn from released counts.

A file is made of a table and, with the same released numbers and the same fresh randomness, of its
neighbour: everything that leaves must be the same.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct import Accountant, Block, Calibrated, Complete, ols
from dprct.errors import ParameterError
from dprct.missing import tagged
from dprct.privacy.mechanisms import AnalyticGaussian, DiscreteLaplace
from dprct.privacy.noise import Secure
from dprct.release.calibrated.covariates import Target
from dprct.release.calibrated.outcomes import PublicRows, constructed_anywhere
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.filterwarnings("ignore::dprct.errors.DprctWarning")

N = 240
DESIGN: dict[str, Any] = {"missing": (), "fate": "public"}
SCHEMA = Schema(
    (
        Column(
            "y", bounds=(0.0, 1.0), missing=(".", ".b"), missing_policy="private", fate="modelled"
        ),
        Column("w", bounds=(0.0, 1.0), missing=(".",), missing_policy="public", fate="modelled"),
        Column("t", "byte", levels=(0.0, 1.0), **DESIGN),
        Column("t2", "byte", levels=(0.0, 1.0), **DESIGN),
        Column("village", "byte", levels=tuple(map(float, range(6))), **DESIGN),
        Column("x", "byte", levels=(0.0, 1.0), missing=(), fate="modelled"),
    ),
    dataset_id="trial",
)
BOTH = SCHEMA.seal()  # once: a certificate names the second in which a schema was sealed
ONE = SCHEMA.declare(w={"fate": "withheld"}).seal()


def table(missing: float = 0.2) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    arm = rng.permutation(np.arange(N) % 3)
    frame = pd.DataFrame(
        {
            "y": rng.uniform(0, 1, N), "w": rng.uniform(0, 1, N), "t": (arm == 1) * 1.0,
            "t2": (arm == 2) * 1.0, "village": np.arange(N) * 6.0 // N,
            "x": rng.integers(0, 2, N).astype(float),
        }
    )  # fmt: skip
    return frame.assign(y=np.where(rng.random(N) < missing, np.nan, frame["y"]))


def gone() -> pd.DataFrame:
    """The table without the value of a person who has one."""
    data = table()
    data.loc[int(np.flatnonzero(data["y"].notna())[0]), "y"] = np.nan
    return data


def model(data: Any, **options: Any) -> Calibrated:
    given = {"schema": BOTH if "outcome" in options else ONE, "outcome": "y", **options}
    return Calibrated(data, treatment=["t", "t2"], **{"covariates": ["x", "C(village)"], **given})


MODELS: dict[str, Callable[[Any], Calibrated]] = {
    "filler": lambda data: model(data, covariate_release="filler"),
    "marginals": lambda data: model(data, covariate_release="marginals"),
    "no covariates": lambda data: model(data, covariates=(), covariate_release="filler"),
    "several sets": lambda data: model(data, covariate_release="filler", specifications=["", "x"]),
    "strict": lambda data: model(data, covariate_release="filler", legal="strict"),
    "index": lambda data: model(
        data, covariate_release="filler", index="0.1 * x", index_bounds=(-1.0, 1.0)
    ),
    "slopes": lambda data: model(data, covariate_release="marginals", gamma="moments"),
    "two outcomes, two policies": lambda data: model(
        data,
        outcome=["w", "y"],
        covariate_release="filler",
    ),
    "blocks that are left out": lambda data: model(
        data, covariate_release="filler", blocks="ignore", assignment=Complete(["t", "t2"])
    ),
    "an engine": lambda data: model(pl.from_pandas(data).lazy(), covariate_release="filler"),
}


def delta(name: str) -> float:
    return 1e-4 if name == "slopes" else 0.0


class Replay:
    """Mechanisms that release on a second run what they released on the first."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kept: list[Any] = []
        self.again: Iterator[Any] | None = None
        self.seed = 0
        for mechanism in (DiscreteLaplace, AnalyticGaussian):
            self._watch(monkeypatch, mechanism)

        def generator(_: Secure) -> np.random.Generator:
            self.seed += 1
            return np.random.Generator(np.random.PCG64(self.seed))

        monkeypatch.setattr(Secure, "post_processing_rng", generator)

    def _watch(self, monkeypatch: pytest.MonkeyPatch, mechanism: Any) -> None:
        release = mechanism.release

        def watched(one: Any, aggregate: Any, noise: Any) -> Any:
            if self.again is not None:
                return next(self.again)
            self.kept.append(release(one, aggregate, noise))
            return self.kept[-1]

        monkeypatch.setattr(mechanism, "release", watched)

    def run(self, deed: Callable[[], Any]) -> Any:
        """Do it with the same fresh randomness as every time."""
        self.seed = 0
        return deed()

    def rewind(self) -> None:
        """Release from here on what was released until now."""
        self.again = iter(self.kept)


def seen(release: Any) -> dict[str, Any]:
    """Return everything that leaves."""
    return {
        "table": {name: release.protected[name].to_numpy().tobytes() for name in release.protected},
        "schema": release.schema.digest(),
        # facts are declared anew for each table, at a second of their own
        "certificate": re.sub(r"T\d\d:\d\d:\d\d", "", release.certificate().to_text()),
        "estimates": str(release.estimates),
        "text": str(release),
    }


def outside(one: Calibrated, words: str) -> dict[str, Any]:
    """Return everything that is told before a cent is spent."""
    asked = (2, delta(words)) if delta(words) else (2,)
    budget = one.plan(*asked).budget
    return {
        "plan": str(one.plan(*asked)),
        "power": one.power(*asked).to_dict(),
        "guarantee": one.guarantee(budget).to_dict(),
        "announced": one._announced(one.guarantee(budget)).digest(),
        "text": repr(one),
    }


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_a_neighbour_without_a_value_leads_to_the_same_file(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = Replay(monkeypatch)
    spent = {"epsilon": 2, "confirm": True, **({"delta": delta(name)} if delta(name) else {})}
    found = []
    for data in (table(), gone()):
        made = replay.run(lambda data=data: MODELS[name](data))
        told = outside(made, name)
        found.append((told, seen(made.fit(**spent))))
        replay.rewind()
    assert found[0] == found[1]


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_a_neighbour_without_a_value_resumes_to_the_same_file(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent = {"epsilon": 2, "confirm": True, **({"delta": delta(name)} if delta(name) else {})}
    accountant = Accountant(9, 0.1, relation="replace-one-design-public")
    MODELS[name](table()).fit(**spent, accountant=accountant)
    replay = Replay(monkeypatch)
    found = [
        replay.run(lambda data=data: seen(MODELS[name](data).resume("1", accountant=accountant)))
        for data in (table(), gone())
    ]
    assert found[0] == found[1]
    assert replay.kept == []


@pytest.mark.parametrize(
    "name", [name for name in MODELS if name not in ("strict", "several sets")]
)
@pytest.mark.parametrize("epsilon", [0.5, 50])
def test_the_rows_with_a_value_return_effects_and_errors(name: str, epsilon: float) -> None:
    spent = {"epsilon": epsilon, "confirm": True, **({"delta": 1e-4} if delta(name) else {})}
    release = MODELS[name](table()).fit(**spent)
    terms = () if name == "no covariates" else ("x", "C(village)")
    fit = ols(" + ".join(("y ~ t + t2", *terms)), release.protected, release.schema)
    several = len(release.estimates.outcomes) > 1
    for arm in ("t", "t2"):
        known = f"y: {arm}" if several else arm
        error = release.estimates.bse[known]
        assert abs(fit.params[arm] - release.estimates.params[known]) < 1e-10 * max(1, error)
        assert fit.bse[arm] == pytest.approx(error, rel=1e-10)


def test_as_many_rows_have_a_value_as_were_released() -> None:
    data = table()
    # the counts have noise of scale 2 / (.35 * 400): all are right but with a chance below 1e-9
    release = model(data, covariate_release="filler").fit(epsilon=2000)
    for arm in ("t", "t2"):
        want = int(data["y"][data[arm] == 1].notna().sum())
        assert int(release.protected["y"][release.protected[arm] == 1].notna().sum()) == want


def test_missing_values_stand_at_random_within_arms() -> None:
    """Everybody of a village has no value; in 40 files of the same counts others have none.

    Were rows of the file those of the table, 40 of 40 villages would be empty.  Of 40 rows of
    which 200 of 240 have a value, none has one with a chance below 1e-30 per file.
    """
    data = table(0.0)
    data.loc[data["village"] == 2, "y"] = np.nan
    one = model(data, covariate_release="filler", covariates=())
    for _ in range(5):
        rows = one.fit(epsilon=500).protected
        assert rows["y"][rows["village"] == 2].notna().any()
        assert rows["y"][rows["village"] != 2].isna().any()


def public_rows(n: int, arms: int) -> PublicRows:
    return PublicRows({}, np.arange(n) % arms, (np.ones(n, bool),), None)


@pytest.mark.parametrize("counts", [(0, 0), (0, 50), (3, 1), (50, 50), (50, 0)])
def test_regressions_have_room_whatever_was_released(counts: tuple[int, int]) -> None:
    """The effect is told within pairs, of whom a draw of few rows would leave none together."""
    rng = np.random.Generator(np.random.PCG64(1))
    rows = public_rows(100, 2)
    pairs = (np.arange(100)[:, None] // 2 == np.arange(1, 50)).astype(float)
    for X in (np.ones((100, 1)), np.column_stack([np.ones(100), pairs])):
        target = Target(np.array([1.0]), np.array([[0.04]]), 0.0, counts=counts)
        found = constructed_anywhere(target, [X], rows, np.ones(100, bool), rng)
        have = ~np.isnan(found.values)
        assert found.exact == (True,)
        W = np.column_stack([rows.arms, X])[have]
        assert np.linalg.lstsq(W, found.values[have], rcond=None)[0][0] == pytest.approx(1)


def test_a_draw_that_leaves_no_effect_is_drawn_again_with_more_values() -> None:
    """One village has both arms, and eleven values of fifty rarely hold two of its rows."""
    rng = np.random.Generator(np.random.PCG64(1))
    rows = public_rows(100, 2)
    apart = ((rows.arms == 1) & (np.arange(100) > 9)).astype(float)
    X = np.column_stack([np.ones(100), apart])
    for _ in range(50):
        target = Target(np.array([1.0]), np.array([[0.04]]), 0.0, counts=(0, 0))
        found = constructed_anywhere(target, [X], rows, np.ones(100, bool), rng)
        have = ~np.isnan(found.values)
        assert have.sum() < 100
        assert (have & (rows.arms == 1) & (apart == 0)).any()


def test_released_counts_are_saved() -> None:
    accountant = Accountant(9, relation="replace-one-design-public")
    private = model(table(), covariate_release="filler")
    private.fit(epsilon=8, accountant=accountant)
    state = json.loads(json.dumps(accountant.recover(accountant.ledger[0].id)))
    (one,) = private._revived(state).effects
    assert len(one.counts) == 3
    assert all(0 <= count <= N // 3 for count in one.counts)


def test_the_file_says_that_its_missing_values_are_drawn() -> None:
    release = model(table(), covariate_release="filler").fit(epsilon=1)
    assert "rows without one stand at random within arms" in release.certificate().to_text()
    release.schema.validate(release.protected)


@pytest.mark.parametrize("legal", ["calibrated", "strict"])
@pytest.mark.parametrize("missing", ["private", "public"])
def test_a_missing_outcome_is_legal_in_the_released_schema(legal: Any, missing: str) -> None:
    """The confidential code is .a; the file says only that there is no value."""
    data = table()
    data["y"] = np.where(data["y"].isna(), tagged(np.ones(N)), data["y"])
    schema = SCHEMA.declare(
        y={"missing": [".a"], "missing_policy": missing}, w={"fate": "withheld"}
    )
    options: dict[str, Any] = {"legal": legal, "covariate_release": "filler"}
    made = Calibrated(data, schema, outcome="y", treatment=["t", "t2"], **options)
    release = made.fit(epsilon=50)
    assert release.protected["y"].isna().any()
    assert release.schema.column("y").missing == (".", ".a")
    release.schema.validate(release.protected)


def test_weighted_blocks_are_refused_as_in_an_effect() -> None:
    design = Block(["t", "t2"], block="village")
    data = table().assign(t=np.arange(N) % 3 == 1, t2=np.arange(N) % 3 == 2).astype(float)
    with pytest.raises(ParameterError, match="weighted blocks"):
        model(data, assignment=design, covariate_release="filler")
