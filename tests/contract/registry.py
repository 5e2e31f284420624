"""Every public model class, on a small table in which a marker is planted.

How to add your class: write one function that binds it to a table, and give it to ``subject`` with
what a reader of its guarantee knows.

    @subject("SyntheticControl", modelled=("y",), design=("t", "block"))
    def _(data: pd.DataFrame) -> Any:
        return SyntheticControl(data, SCHEMA, outcome="y", ...)

- The table is ``table()``: 240 rows, the columns of ``SCHEMA``.  Give ``make_table=`` for a class
  that wants another shape (say, a panel of donors); it must hold ``NUMBER`` in a modelled column
  and ``TEXT`` in some column, both in row ``PLANTED``.
- ``modelled``: numeric columns whose values the guarantee protects.  They get NaN, infinities and
  values far outside the bounds behind the door's back, and every worst-case neighbour.
- ``design``: columns that the guarantee takes as public; no neighbour changes them.
- ``assigned``: protected columns that the door holds against the design, so that not all rows may
  be equal in them.
- ``may_miss``: protected columns in which a value may be missing, and it is private whether one
  is; every such neighbour is tried.
- ``options``: what ``fit`` needs besides ``epsilon``, ``accountant`` and ``rng``.
- ``tail_draws=True``: how many draws are made is random itself, as for the empty cells of the
  sparse histogram; then it is not compared.
- ``published=True``: the algorithm has no guarantee; then only the checks of leaks apply, and the
  released cells may hold what they hold.

Then ``pytest tests/contract -k SyntheticControl`` must pass, without a change to the checks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import dprct
from dprct import published
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NUMBER = 123456.789
"""Planted in a modelled column: legal there, in no declared fact, and no round number."""

TEXT = "Zebediah-Quux"
"""Planted in a column of names."""

PLANTED = 7
"""The row of both."""

NEVER: dict[str, Any] = {"missing": "never"}
SCHEMA = Schema(
    (
        Column("y", "double", confirmed=True),
        Column("w", "double", confirmed=True),
        Column("t", "byte", confirmed=True),
        Column("block", "byte", confirmed=True),
        Column("name", "str20", confirmed=True),
    )
).declare(
    dataset_id="trial",
    y={"bounds": (-200_000, 200_000), "bins": 4, **NEVER},
    w={"bounds": (-200_000, 200_000), "bins": 4, **NEVER},
    t={"levels": [0, 1], **NEVER},
    block={"levels": [1, 2], **NEVER},
)


def table(rows: int = 240) -> pd.DataFrame:
    """An experiment of ``rows`` people in two blocks, with the markers planted in one row."""
    rng = np.random.default_rng(1)
    y, w = rng.uniform(-1e5, 1e5, rows), rng.uniform(-1e5, 1e5, rows)
    y[PLANTED] = w[PLANTED] = NUMBER
    names = np.array([f"person {i}" for i in range(rows)], dtype=object)
    names[PLANTED] = TEXT
    return pd.DataFrame(
        {
            "y": y,
            "w": w,
            "t": np.tile([0.0, 1.0], rows // 2),
            "block": np.repeat([1.0, 2.0], rows // 2),
            "name": pd.Series(names, dtype=object),
        }
    )


@dataclass(frozen=True)
class Subject:
    """A class, and what a reader of its guarantee knows of it."""

    name: str
    make: Callable[[pd.DataFrame], Any]
    modelled: tuple[str, ...]
    design: tuple[str, ...] = ()
    assigned: tuple[str, ...] = ()
    may_miss: tuple[str, ...] = ()
    published: bool = False
    tail_draws: bool = False
    epsilon: float = 4.0
    delta: float = 0.0
    options: Mapping[str, Any] = field(default_factory=dict)
    make_table: Callable[[], pd.DataFrame] = table
    bounds: tuple[float, float] = (-200_000.0, 200_000.0)

    def fit(self, model: Any, **options: Any) -> Any:
        """Fit with the budget of this subject."""
        asked = {"delta": self.delta} if self.delta else {}
        return model.fit(epsilon=self.epsilon, **asked, **self.options, **options)

    def plan(self, model: Any) -> Any:
        """Plan with the budget of this subject."""
        return model.plan(self.epsilon, *([self.delta] if self.delta else []))

    @property
    def accountant(self) -> dprct.Accountant:
        """With twice the budget of one fit, under a relation that takes the charge."""
        kind = "replace-one-design-public" if self.design else "replace-one"
        return dprct.Accountant(2 * self.epsilon, 2 * self.delta, relation=kind, unit=self.unit)

    @property
    def unit(self) -> str:
        """What one record is."""
        if self.name not in UNITS:
            guarantee = self.make(self.make_table()).guarantee(dprct.Budget(1, self.delta))
            UNITS[self.name] = str(guarantee.unit)
        return UNITS[self.name]


UNITS: dict[str, str] = {}
"""By subject: every accountant asks for it, and it is a public fact of the subject."""

SUBJECTS: dict[str, Subject] = {}


def subject(name: str, **facts: Any) -> Callable[[Callable[[pd.DataFrame], Any]], None]:
    """Register the decorated function as the way to bind a class to a table."""

    def add(make: Callable[[pd.DataFrame], Any]) -> None:
        assert name not in SUBJECTS
        SUBJECTS[name] = Subject(name, make, **facts)

    return add


def designed_schema() -> Schema:
    """The schema of a calibrated file: outcome and covariate modelled, treatment public."""
    fates = {"y": {"fate": "modelled"}, "w": {"fate": "modelled"}, "t": {"fate": "public"}}
    return SCHEMA.declare(**fates).declare_rest("withheld")


CONFIRMED = {"options": {"confirm": True}}
COLUMNS = ["y", "t", "block"]


def released_schema(*modelled: str) -> Schema:
    """The schema with a fate for every column."""
    named = SCHEMA.declare(**{name: {"fate": "modelled"} for name in modelled})
    return named.declare_rest("withheld")


@subject("MVHistogram", modelled=("y", "t", "block"), tail_draws=True, **CONFIRMED)
def _(data: pd.DataFrame) -> Any:
    return dprct.MVHistogram(data, released_schema(*COLUMNS))


@subject("MVHistogram, delta", modelled=("y", "t", "block"), delta=1e-4, **CONFIRMED)
def _(data: pd.DataFrame) -> Any:
    return dprct.MVHistogram(data, released_schema(*COLUMNS))


@subject("Marginals", modelled=("y", "t", "block"), **CONFIRMED)
def _(data: pd.DataFrame) -> Any:
    return dprct.Marginals(data, released_schema(*COLUMNS))


@subject("Marginals, delta", modelled=("y", "t", "block"), delta=1e-4, **CONFIRMED)
def _(data: pd.DataFrame) -> Any:
    return dprct.Marginals(data, released_schema(*COLUMNS))


@subject("PrivateATE", modelled=("y", "w"), design=("t", "block"))
def _(data: pd.DataFrame) -> Any:
    return dprct.PrivateATE(data, SCHEMA, outcome=["y", "w"], treatment="t")


@subject("PrivateATE, blocks", modelled=("y",), design=("t", "block"))
def _(data: pd.DataFrame) -> Any:
    design = dprct.Block("t", block="block")
    return dprct.PrivateATE(data, SCHEMA, outcome="y", treatment="t", assignment=design)


@subject("PrivateATE, treatment private", modelled=("y", "t"), assigned=("t",))
def _(data: pd.DataFrame) -> Any:
    return dprct.PrivateATE(
        data, SCHEMA, outcome="y", treatment="t", neighbors="replace-one",
        assignment=dprct.Simple("t"),
    )  # fmt: skip


@subject("PrivateATE, jointly", modelled=("y", "w"), design=("t", "block"), delta=1e-6)
def _(data: pd.DataFrame) -> Any:
    return dprct.PrivateATE(data, SCHEMA, outcome=["y", "w"], treatment="t")


@subject("PrivateATE, jointly, treatment private", modelled=("y", "t"), assigned=("t",), delta=1e-6)
def _(data: pd.DataFrame) -> Any:
    return dprct.PrivateATE(
        data, SCHEMA, outcome="y", treatment="t", neighbors="replace-one",
        assignment=dprct.Simple("t"),
    )  # fmt: skip


@subject("Calibrated", modelled=("y", "w"), design=("t", "block"), tail_draws=True, **CONFIRMED)
def _(data: pd.DataFrame) -> Any:
    return dprct.Calibrated.from_formula(
        "y ~ t + w", data, designed_schema(), treatment="t", covariate_release="histogram"
    )


@subject(
    "Calibrated, who has a value private", modelled=("y", "w"), design=("t", "block"),
    may_miss=("y",), tail_draws=True, **CONFIRMED,
)  # fmt: skip
def _(data: pd.DataFrame) -> Any:
    schema = designed_schema().declare(y={"missing": [".", ".a"], "missing_policy": "private"})
    return dprct.Calibrated.from_formula(
        "y ~ t + w", data, schema, treatment="t", covariate_release="histogram"
    )


@subject(
    "Calibrated, blocks, slopes", modelled=("y", "w"), design=("t", "block"), delta=1e-4,
    may_miss=("y",), **CONFIRMED,
)  # fmt: skip
def _(data: pd.DataFrame) -> Any:
    schema = designed_schema().declare(
        y={"missing": ["."], "missing_policy": 0.0}, block={"fate": "public"}
    )
    return dprct.Calibrated.from_formula(
        "y ~ t + w + C(block)", data, schema, treatment="t", covariate_release="marginals",
        gamma="moments", assignment=dprct.Block("t", block="block"),
    )  # fmt: skip


@subject(
    "Calibrated, two outcomes, strict, index", modelled=("y", "w"), design=("t", "block"),
    may_miss=("y", "w"), **CONFIRMED,
)  # fmt: skip
def _(data: pd.DataFrame) -> Any:
    schema = designed_schema().declare(
        y={"missing": ["."], "missing_policy": "private"},
        w={"missing": ["."], "missing_policy": 0.0},
        block={"fate": "public"},
    )
    return dprct.Calibrated(
        data, schema, outcome=["y", "w"], treatment="t", covariates=["C(block)"],
        specifications=[""], legal="strict",
        covariate_release="filler",
        index={"y": "1000 * block"}, index_bounds={"y": (-300_000, 300_000)},
    )  # fmt: skip


@subject("Calibrated, jointly", modelled=("y", "w"), design=("t", "block"), delta=1e-6)
def _(data: pd.DataFrame) -> Any:
    return dprct.Calibrated(
        data, designed_schema(), outcome=["y", "w"], treatment="t", covariate_release="filler",
    )  # fmt: skip


@subject(
    "Calibrated, treatment private", modelled=("y", "w", "t"), assigned=("t",), delta=1e-6,
    tail_draws=True, **CONFIRMED,
)  # fmt: skip
def _(data: pd.DataFrame) -> Any:
    return dprct.Calibrated(
        data, released_schema("y", "w", "t"), outcome="y", covariates=["w"],
        covariate_release="histogram", assignment=dprct.Complete("t", shares=0.5),
        neighbors="replace-one",
    )  # fmt: skip


@subject(
    "Calibrated, clusters", modelled=("y",), design=("t", "block"), may_miss=("y",), **CONFIRMED
)
def _(data: pd.DataFrame) -> Any:
    levels = {"levels": list(range(60)), "missing": "never", "fate": "public"}
    columns = (*designed_schema().columns, dprct.Column("home", "byte", confirmed=True))
    schema = Schema(columns, dataset_id="trial").declare(
        home=levels, y={"missing": ["."], "missing_policy": 0.0}
    )
    # four rows a home: its treatment is that of its first row
    homes = np.arange(len(data)) // 4
    data = data.assign(home=homes.astype(float), t=(homes % 2).astype(float))
    return dprct.Calibrated(
        data, schema, outcome="y", treatment="t",
        assignment=dprct.Cluster("t", cluster="home", largest=4), covariate_release="filler",
        privacy_unit="cluster",
    )  # fmt: skip


@subject("published.MVHistogram", modelled=("y",), published=True)
def _(data: pd.DataFrame) -> Any:
    return published.MVHistogram(data, released_schema(*COLUMNS))


@subject("published.Hybrid", modelled=("y",), published=True, **CONFIRMED)
def _(data: pd.DataFrame) -> Any:
    return published.Hybrid.from_formula(
        "y ~ t + w", data, released_schema("y", "w", "t"), treatment="t",
        assignment=dprct.Complete("t"), x_method="strict",
    )  # fmt: skip


@subject("published.GenModel", modelled=("y",), published=True, **CONFIRMED)
def _(data: pd.DataFrame) -> Any:
    return published.GenModel.from_formula(
        "y ~ t + w", data, released_schema("y", "w", "t"), treatment="t",
        assignment=dprct.Complete("t"), x_method="strict",
    )  # fmt: skip


PANEL = Schema(
    (
        Column("region", "byte", confirmed=True),
        Column("year", "int", confirmed=True),
        Column("y", "double", confirmed=True),
        Column("name", "str20", confirmed=True),
    )
).declare(dataset_id="trial", y={"bounds": (-200_000, 200_000), **NEVER})


def donors() -> pd.DataFrame:
    """24 regions over 10 years; the markers are in region 0, the treated one is region 23."""
    return table().assign(
        region=np.repeat(np.arange(24.0), 10), year=np.tile(np.arange(2000.0, 2010), 24)
    )


CONTROL: dict[str, Any] = {
    "outcome": "y", "unit": "region", "time": "year", "treated": 23, "treatment_time": 2007,
}  # fmt: skip
PANELS: dict[str, Any] = {
    "modelled": ("y",), "assigned": (), "make_table": donors,
}  # fmt: skip


@subject("SyntheticControl", **PANELS)
def _(data: pd.DataFrame) -> Any:
    return dprct.SyntheticControl(data, PANEL, pre_fit=True, placebos=["0", "5"], **CONTROL)


@subject("SyntheticControl, treated unit protected", **PANELS)
def _(data: pd.DataFrame) -> Any:
    return dprct.SyntheticControl(
        data, PANEL, protect_treated=True, pre_fit=True, donor_weights="auto", **CONTROL
    )


for kind in ("gaussian", "concentrated"):

    @subject(f"SyntheticControl, {kind}", delta=1e-4, **PANELS)
    def _(data: pd.DataFrame, kind: Any = kind) -> Any:
        return dprct.SyntheticControl(
            data, PANEL, noise=kind, pre_fit=True, placebos=["0", "5"], **CONTROL
        )


@subject("PrivateAdditive", modelled=("y", "w", "t", "block"))
def _(data: pd.DataFrame) -> Any:
    return dprct.PrivateAdditive.from_formula("y ~ w*C(block)", data, SCHEMA, subgroups=["t"])


EFFECT: dict[str, Any] = {"outcome": "y", "features": ["w", "block"], "treatment": "t"}


@subject("CATE, known propensity", modelled=("y", "w", "t", "block"), delta=1e-4)
def _(data: pd.DataFrame) -> Any:
    return dprct.CATE(data, SCHEMA, assignment=dprct.Simple("t"), **EFFECT)


@subject("CATE, estimated propensity", modelled=("y", "w", "t"))
def _(data: pd.DataFrame) -> Any:
    return dprct.CATE(data, SCHEMA, **EFFECT)


@subject("CATE, R-learner", modelled=("y", "w", "t"), delta=1e-4)
def _(data: pd.DataFrame) -> Any:
    return dprct.CATE(data, SCHEMA, learner="r", **EFFECT)


@subject("CATE, S-learner", modelled=("y", "w", "t"))
def _(data: pd.DataFrame) -> Any:
    return dprct.CATE(data, SCHEMA, learner="s", propensity=0.5, **EFFECT)


@subject("PrivateMoments", modelled=("y", "w", "t", "block"), assigned=("t",), delta=1e-4)
def _(data: pd.DataFrame) -> Any:
    return dprct.PrivateMoments(
        data, SCHEMA.declare(y={"sd": 5e4}, w={"sd": 5e4}), columns=["y", "w", "y:w"],
        formulas=["y ~ t + w"], subgroups=["block"], assignment=dprct.Simple("t"),
    )  # fmt: skip


@subject("PrivateMoments, treatment public", modelled=("y", "w"), design=("t", "block"), delta=1e-4)
def _(data: pd.DataFrame) -> Any:
    return dprct.PrivateMoments(
        data, SCHEMA, formulas=["y ~ t + w"], assignment=dprct.Block("t", block="block"),
        subgroups=["block"], neighbors="replace-one-design-public",
    )  # fmt: skip


@subject("PrivateMoments, robust errors", modelled=("y", "w"), design=("t",), delta=1e-4)
def _(data: pd.DataFrame) -> Any:
    return dprct.PrivateMoments(
        data, SCHEMA.declare(y={"sd": 5e4}, w={"sd": 5e4}), formulas=["y ~ t + w"],
        assignment=dprct.Simple("t"), cov_type="HC1", neighbors="replace-one-design-public",
    )  # fmt: skip


WEIGHTED: dict[str, Any] = {"outcome": "y", "treatment": "t", "covariates": ["w"]}


@subject("IPW", modelled=("y", "w", "t"), delta=1e-4)
def _(data: pd.DataFrame) -> Any:
    return dprct.IPW(data, SCHEMA, balance=["w"], overlap=True, **WEIGHTED)


@subject("IPW, ATT, Hajek", modelled=("y", "w", "t"), delta=1e-4)
def _(data: pd.DataFrame) -> Any:
    return dprct.IPW(data, SCHEMA, estimand="att", hajek=True, **WEIGHTED)


@subject("IPW, ATC, treatment public", modelled=("y", "w"), design=("t",), delta=1e-4)
def _(data: pd.DataFrame) -> Any:
    return dprct.IPW(
        data, SCHEMA, estimand="atc", neighbors="replace-one-design-public", **WEIGHTED
    )


@subject("published.IPW", modelled=("y",), published=True, delta=1e-4, epsilon=0.5)
def _(data: pd.DataFrame) -> Any:
    return published.IPW.from_formula("t ~ w", data, SCHEMA, outcome="y")


for form in ("output", "objective"):

    @subject(f"published.SyntheticControl, {form}", published=True, **PANELS)
    def _(data: pd.DataFrame, form: Any = form) -> Any:
        return published.SyntheticControl(data, PANEL, perturb=form, **CONTROL)


if find_spec("interpret") is not None:

    @subject("published.CATE", modelled=("y", "w"), published=True, delta=1e-4)
    def _(data: pd.DataFrame) -> Any:
        return published.CATE(
            data, SCHEMA, outcome="y", features=["w", "block"], treatment="t",
            assignment=dprct.Simple("t"), accept_uncertified=True,
        )  # fmt: skip
