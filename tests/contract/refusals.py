"""Every strict method and option, on tables of which neighbours must be treated alike.

How to add an option: give ``case`` a keyword with it.  A method, an option or a documented choice
of an option without a case fails ``test_refusals_are_public.py``.

- ``private``: columns of which a neighbour changes one row, to every corner that the schema allows.
- ``present``: of these, columns of which it is public who has a value: no neighbour changes that.
- ``lists``: words of public facts, for the aggregates of the table that the method does use.  No
  neighbour changes any of them; the other columns of a table are the same in all neighbours.
- ``delta``: where noise needs one.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl

import dprct
from dprct import Column, Schema, Unit
from dprct.missing import missing_numbers, tagged
from dprct.schema.columns import FileFacts
from dprct.schema.tables import COMPANION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROWS = 48
BIT: dict[str, Any] = {"type": "byte", "levels": (0.0, 1.0), "missing": ()}

SCHEMA = Schema(
    (
        Column("y", bounds=(0.0, 4.0), missing=()),
        Column("g", bounds=(0.0, 4.0), missing=(".", ".a")),
        Column("t", **BIT),
        Column("t2", **BIT),
        Column("a", **BIT, exclusive="arm"),
        Column("b", **BIT, exclusive="arm"),
        Column("c", "str4", levels=("cash", "none")),
        Column("block", "byte", levels=(1.0, 2.0, 3.0), missing=(".",)),
        Column("home", "int", missing=()),
        Column("x", bounds=(-1.0, 1.0), bins=4, missing=(".",)),
        Column("k", "byte", levels=(1.0, 2.0, 3.0), missing=(".", ".b")),
        Column("s", "str5", levels=("north", "south"), missing=()),
        Column("id", "long", missing=()),
    ),
    file=FileFacts(characteristics=(("_dta", "note1", "a note"),)),
    unit=Unit("person", id="id"),
)
MAY_MISS = ("g", "block", "x", "k")


def policy(value: Any, *names: str) -> dict[str, Any]:
    """What missing values count as, declared with columns; the same for all that may miss."""
    return {name: {"missing_policy": value} for name in names or MAY_MISS}


PANEL = Schema(
    (
        Column("region", "byte", missing=()),
        Column("year", "int", missing=()),
        Column("y", bounds=(0.0, 4.0), missing=()),
        Column("x", bounds=(-1.0, 1.0), missing=(".",)),
    )
)


def people() -> pd.DataFrame:
    """48 people, in which every group of every design has its share, and every block is there."""
    i, rng = np.arange(ROWS), np.random.default_rng(1)
    arm = i % 3
    x, k = rng.uniform(-1, 1, ROWS), rng.integers(1, 4, ROWS).astype(float)
    g = rng.uniform(0, 4, ROWS)
    g[5:9], x[6], k[7] = tagged([0, 1, 0, 1]), np.nan, tagged([2])[0]
    return pd.DataFrame(
        {
            "y": rng.uniform(0, 4, ROWS),
            "g": g,
            "t": (i % 2).astype(float),
            "t2": (i // 2 % 2).astype(float),
            "a": (arm == 1).astype(float),
            "b": (arm == 2).astype(float),
            "c": np.array(["cash", "none"], object)[i % 2],
            "block": i // 16 + 1.0,
            "home": (i % 12).astype(float),
            "x": x,
            "k": k,
            "s": np.array(["north", "south"], object)[rng.integers(0, 2, ROWS)],
            "id": i + 1.0,
        }
    )


def regions() -> pd.DataFrame:
    """12 regions over 8 years; region 11 is treated."""
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "region": np.repeat(np.arange(12.0), 8),
            "year": np.tile(np.arange(2000.0, 2008), 12),
            "y": rng.uniform(0, 4, 96),
            "x": rng.uniform(-1, 1, 96),
        }
    )


@dataclass(frozen=True)
class Case:
    """A method with options, and what of the table is private and what is not."""

    method: str
    name: str
    options: Mapping[str, Any]
    private: tuple[str, ...]
    present: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    delta: float = 0.0
    panel: bool = False
    engine: bool = False
    random_draws: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The method and what is asked of it."""
        relation = self.options.get("neighbors", "")
        private = self.method == "PrivateATE" and relation == "replace-one"
        return f"{self.method}: {self.name}" + (", treatment private" if private else "")

    @property
    def schema(self) -> Schema:
        """The schema of this case."""
        return (PANEL if self.panel else SCHEMA).declare(**self.facts)

    def table(self) -> pd.DataFrame:
        """An ordinary table."""
        return regions() if self.panel else people()

    def in_polars(self, data: pd.DataFrame) -> Any:
        """A table of people as Polars holds it: missing codes in columns beside the values."""
        if self.panel or self.engine:
            return data
        columns: dict[str, Any] = {}
        for name in data.columns:
            values = data[name].to_numpy()
            if values.dtype != np.float64:
                columns[name] = values.tolist()
                continue
            columns[name] = pl.Series(values).fill_nan(None)
            if np.isnan(values).any():
                columns[name + COMPANION] = missing_numbers(values).astype(np.int8)
        return pl.DataFrame(columns)

    def make(self, data: Any) -> Any:
        """Bind the method to a table."""
        table: Any = data
        if self.engine:
            gone = {name: data[name].isna() for name in ("g", "x", "k", "block")}
            plain = data.assign(**{n: data[n].where(~mask, None) for n, mask in gone.items()})
            table = pl.from_pandas(plain, nan_to_null=True).lazy()
        return getattr(dprct, self.method)(table, self.schema, **self.options)

    def neighbours(self) -> Iterator[tuple[str, pd.DataFrame, list[tuple[pd.DataFrame, bool]]]]:
        """Yield sets of legal tables, any two of which differ in one row alone, and none twice.

        Each set is a table and its neighbours, and with each neighbour whether it is to be fitted:
        all of an ordinary table's are, and else those whose row is at the first or last corner.
        """
        base, alone = self.table(), self.corners()
        for words, table in (
            ("an ordinary table", base),
            ("everybody alike", self._alike(base, 0, 0)),
            ("all but two alike, at the first corner", self._alike(base, 0, -1)),
            ("all but two alike, at the last corner", self._alike(base, -1, 0)),
        ):
            # in a panel, one record is a donor's whole series
            record = table["region"] == 0 if self.panel else table.index == 0
            same = _content(table[record])
            found: dict[tuple[object, ...], tuple[pd.DataFrame, bool]] = {}
            for place, corner in enumerate(alone):
                moved = table.copy()
                for name, value in corner.items():
                    moved.loc[record, name] = value
                row = _content(moved[record])
                if row != same:
                    last = place >= len(alone) - 2
                    found[row] = moved, last or (table is base and not self.random_draws)
            yield words, table, list(found.values())

    def corners(self) -> list[dict[str, Any]]:
        """Return what a row can be changed to: column by column, and all at once."""
        found: list[dict[str, Any]] = []
        each = {name: self._corners_of(name) for name in self.private}
        for name, values in each.items():
            if name not in ("a", "b"):
                found += [{name: value} for value in values]
        if "a" in each:
            found += [{"a": 0.0, "b": 0.0}, {"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}]
        first, last = ({name: values[end] for name, values in each.items()} for end in (0, -1))
        return [*found, first, last | ({"a": 0.0} if "a" in each else {})]

    def _corners_of(self, name: str) -> list[Any]:
        if name == "id":
            return [999.0]  # an id that nobody has: how many rows have each id is listed as public
        column = self.schema.column(name)
        values = list(column.levels or column.bounds or ())
        if name in self.present or column.is_text:
            return values
        codes = [".abcdefghijklmnopqrstuvwxyz".index(code[-1]) for code in column.missing or ()]
        return [*values, *tagged(codes)]

    def _alike(self, base: pd.DataFrame, place: int, other: int) -> pd.DataFrame:
        """Return a table of which all records but two are at one corner, and two at another.

        A row that moves leaves one record alone in its arm, its block, or with its value.
        """
        table = base.copy()
        apart = base["region"] < 2 if self.panel else base.index < 2
        for name in self.private:
            if name == "id":
                continue
            change = base[name].notna() if name in self.present else np.ones(len(base), bool)
            if self.panel:  # the treated unit's series is public
                change = change & (base["region"] != 11)
            corners = self._corners_of(name)
            table.loc[change & ~apart, name] = corners[place]
            table.loc[change & apart, name] = corners[other]
        if "a" in self.private:
            table["b"] = 0.0
        return table


def _content(rows: pd.DataFrame) -> tuple[object, ...]:
    """Return what rows hold: of numbers the bytes, which tell missing codes apart."""
    return tuple(
        rows[name].to_numpy().tobytes() if rows[name].dtype == np.float64 else tuple(rows[name])
        for name in rows.columns
    )


CASES: list[Case] = []


def case(method: str, name: str, private: str, **facts: Any) -> None:
    """Register a case; ``private`` is columns with spaces between them, ``options`` the rest."""
    known = {f for f in Case.__dataclass_fields__ if f not in ("method", "name", "options")}
    given = {key: facts.pop(key) for key in list(facts) if key in known}
    CASES.append(Case(method, name, facts, tuple(private.split()), **given))


# effects of an experiment, treatment public
SIZES = ("how many rows each person has", "of every row (treatment, blocks, clusters): arm sizes")
HAS = (*SIZES, "who has a value of g")
ATE: dict[str, Any] = {"method": "PrivateATE", "lists": SIZES}
case(**ATE, name="plain", private="y id", outcome="y", treatment="t")
case(**ATE, name="a constant", private="y g", outcome=["y", "g"], treatment="t", alphas=(0.05,),
     budget_shares={"y": 0.25, "g": 0.75},
     facts={"y": {"sd": 1.0}, **policy(2.0, "g")})  # fmt: skip
case(**ATE | {"lists": HAS}, name="missing public", private="g", present=("g",), outcome="g",
     treatment=["a", "b"], facts=policy("public", "g"))  # fmt: skip
case(**ATE, name="missing private", private="g", outcome="g", treatment="t",
     facts=policy("private", "g"))  # fmt: skip
case(**ATE, name="missing private, in an engine", private="g", outcome="g", treatment="t",
     facts=policy("private", "g"), engine=True)  # fmt: skip
case(**ATE, name="by outcome", private="y g", outcome=["y", "g"], treatment="t",
     facts=policy("private", "g"))  # fmt: skip
case(**ATE, name="blocks", private="y", outcome="y", assignment=dprct.Block("t", block="block"))
case(**ATE, name="blocks left out", private="y", outcome="y", blocks="ignore",
     assignment=dprct.Block("t", block="block"))  # fmt: skip
case(**ATE, name="pools", private="y", outcome="y", blocks={1.0: "p", 2.0: "p"},
     assignment=dprct.Block("t", block="block"))  # fmt: skip
case(**ATE, name="clusters", private="y", outcome="y", privacy_unit="cluster",
     assignment=dprct.Cluster("t", cluster="home", largest=4))  # fmt: skip
case(**ATE, name="clusters, a correlation", private="y", outcome="y",
     assignment=dprct.Cluster("t", cluster="home", icc=0.1))  # fmt: skip
case(**ATE, name="clusters, bounds on means", private="y", outcome="y", assignment=dprct.Cluster(
     "t", cluster="home", cluster_mean_bounds={"y": (0.0, 1.0)}))  # fmt: skip
case(**ATE, name="attrition", private="y", outcome="y", attrition=True,
     assignment=dprct.Complete("t", shares=0.3))  # fmt: skip
case(**ATE, name="a control group", private="y", outcome="y", control="none",
     assignment=dprct.Complete(["cash", "none"], arm="c"))  # fmt: skip
CROSSED = dprct.Factorial([dprct.Complete("t"), dprct.Complete("t2")])
for effects in ("main", "factorial"):
    case(**ATE, name=effects, private="y", outcome="y", assignment=CROSSED, effects=effects)
NARROW: dict[str, Any] = {"outcome": "y", "treatment": "t", "index_bounds": (-3, 3)}
case(**ATE, name="a formula", private="y x", index="2 + x", **NARROW)


def steep(rows: pd.DataFrame) -> Any:
    """An index that fails for one legal row, and warns of what it sees."""
    if (rows["x"] == -1).any():
        warnings.warn(f"-1 in one of {len(rows)} rows", stacklevel=1)
        raise KeyError("-1")
    return rows["x"].fillna(0) + (rows["s"] == "north")


def steep_of_x(rows: pd.DataFrame) -> Any:
    """The same of one column."""
    return steep(rows.assign(s="south"))


case(**ATE, name="a function", private="y x s", index=steep, index_columns=["x", "s"], **NARROW)

# effects of an experiment, treatment private
HIDDEN: dict[str, Any] = {
    "method": "PrivateATE", "neighbors": "replace-one",
    "lists": ("how many rows each person has", "declared probabilities"),
}  # fmt: skip
HALF = dprct.Complete("t", shares=0.5)
case(**HIDDEN, name="Complete", private="y t id", outcome="y", assignment=HALF)
case(**HIDDEN, name="Complete, in an engine", private="y t", outcome="y", assignment=HALF,
     engine=True)  # fmt: skip
case(**HIDDEN, name="counts", private="y t", outcome="y",
     assignment=dprct.Complete("t", counts=24))  # fmt: skip
case(**HIDDEN, name="Simple, unlikely", private="y t", outcome="y",
     assignment=dprct.Simple("t", shares=1e-6))  # fmt: skip
case(**HIDDEN, name="three arms", private="y a b", outcome="y",
     assignment=dprct.Complete(["a", "b"]))  # fmt: skip
case(**HIDDEN, name="text", private="y c", outcome="y", control="none",
     assignment=dprct.Complete(["cash", "none"], arm="c"))  # fmt: skip
case(**HIDDEN, name="blocks", private="y t block", outcome="y",
     assignment=dprct.Block("t", block="block"))  # fmt: skip
case(**HIDDEN, name="shares by block", private="y t block", outcome="y",
     assignment=dprct.Block("t", block="block", shares=dict.fromkeys((1.0, 2.0, 3.0, None), 0.5)),
)  # fmt: skip
case(**HIDDEN, name="shares lack a block", private="y t block", outcome="y",
     assignment=dprct.Block("t", block="block", shares={1.0: 0.5, 2.0: 0.5, 3.0: 0.5}))  # fmt: skip
case(**HIDDEN, name="arms that the schema lets overlap", private="y t t2", outcome="y",
     assignment=dprct.Simple(["t", "t2"]))  # fmt: skip
OWN = dprct.Custom(lambda rows, rng: np.arange(len(rows)) % 2.0, "t", shares=0.5, uses="block")
case(**HIDDEN, name="Custom", private="y t block", outcome="y", attrition=True, assignment=OWN)
for effects in ("arms", "main", "factorial"):
    case(**HIDDEN, name=f"factorial design, {effects}", private="y t t2", outcome="y",
         assignment=CROSSED, effects=effects)  # fmt: skip
case(**HIDDEN, name="a constant", private="g t", outcome="g", assignment=HALF,
     facts=policy(1.0, "g"))  # fmt: skip
case(**HIDDEN | {"lists": ("who has a value of g",)}, name="missing public", private="g t",
     present=("g",), outcome="g", assignment=HALF, facts=policy("public", "g"))  # fmt: skip
case(**HIDDEN, name="missing private", private="g t", outcome="g", assignment=HALF,
     facts=policy("private", "g"))  # fmt: skip
JOINT: dict[str, Any] = {
    "delta": 1e-3,
    "outcome": ["y", "g"],
    "facts": {"y": {"sd": 1.0}, "g": {"sd": 1.0, "missing_policy": 1.0}},
}
case(**ATE, **JOINT, name="with a delta", private="y g", treatment="t")
case(**ATE, **JOINT, name="clusters and a delta", private="y g",
     assignment=dprct.Cluster("t", cluster="home", icc=0.2), attrition=True)  # fmt: skip
case(**HIDDEN, **JOINT, name="with a delta", private="y g t", assignment=HALF)
case(**ATE, **JOINT, name="subgroups", private="y g s", treatment="t", subgroups=["s"])
case(**HIDDEN, **JOINT, name="subgroups", private="y g t s", assignment=HALF, subgroups=["s"])
case(**HIDDEN, name="an index", private="y t x", outcome="y", assignment=HALF, index="2 + x",
     index_bounds=(-3, 3))  # fmt: skip

# moments
AT_ZERO = policy(0.0, "x")
SCALED: dict[str, Any] = {"y": {"sd": 1.0}, "x": {"sd": 1.0, "missing_policy": 0.0}}
CENTRED: dict[str, Any] = SCALED | {"x": SCALED["x"] | {"centre": 0.1}}
MOMENTS: dict[str, Any] = {
    "method": "PrivateMoments", "delta": 1e-3, "lists": ("how many rows each person has",),
    "facts": AT_ZERO,
}  # fmt: skip
case(**MOMENTS, name="columns", private="y x s id", columns=["y", "x", "s", "x:s", "I(x ** 2)"])
case(**MOMENTS, name="in an engine", private="y x s", columns=["y", "x", "s"], engine=True)
case(**MOMENTS | {"facts": CENTRED}, name="scales", private="y x", formulas=["y ~ x"],
     radius=2.0)  # fmt: skip
case(**MOMENTS | {"facts": CENTRED}, name="clipped", private="y x", formulas=["y ~ x"],
     radius=2.0, clipped=0.02, cov_type="nonrobust")  # fmt: skip
case(**MOMENTS | {"facts": SCALED}, name="scores", private="y t x", formulas=["y ~ t + x"],
     assignment=HALF, cov_type="HC1")  # fmt: skip
case(**MOMENTS | {"facts": SCALED | policy(1.0, "g")}, name="weights", private="y x g",
     formulas=["y ~ x"], cov_type="HC1", weights="g")  # fmt: skip
TWICE = SCALED | {"unit": Unit("person", id="id", max_rows=2)}
AT_HOME = SCALED | {"unit": Unit("household", id="home", max_rows=99)}
case(**MOMENTS | {"lists": (), "facts": TWICE}, name="several rows", private="y x",
     formulas=["y ~ x"], cov_type="CR1")  # fmt: skip
case(**MOMENTS | {"lists": (), "facts": AT_HOME}, name="effects of units", private="y x",
     formulas=["y ~ x + I(x ** 2) | home"], columns=["y"], cov_type="CR1")  # fmt: skip
case(**MOMENTS, name="the box", private="y x", formulas=["y ~ x"], radius="box")
case(**MOMENTS, name="arms", private="y t x s", formulas=["y ~ t + x"], assignment=HALF,
     subgroups=["s"], attrition=True, control="control", neighbors="replace-one")  # fmt: skip
case(**MOMENTS, name="subgroups", private="y k x", columns=["y", "x"], subgroups=["k"])
case(**MOMENTS, name="three arms", private="y a b x", columns=["y", "x"],
     assignment=dprct.Complete(["a", "b"]))  # fmt: skip
case(**MOMENTS, name="arms that the schema lets overlap", private="y t t2", columns=["y", "x"],
     assignment=dprct.Simple(["t", "t2"]))  # fmt: skip
case(**MOMENTS | {"lists": SIZES}, name="arms public", private="y x", formulas=["y ~ t + x"],
     assignment=dprct.Complete("t"), neighbors="replace-one-design-public")  # fmt: skip
NUMBER: dict[str, Any] = {**MOMENTS, "facts": policy(1.0)}
case(**NUMBER, name="a number for what is missing", private="g x", columns=["g", "x"])
PUBLIC: dict[str, Any] = {
    **MOMENTS, "facts": policy("public"), "lists": ("who has a value of",),
    "columns": ["g", "x", "C(k)"],
}  # fmt: skip
case(**PUBLIC, name="missing public", private="g x k", present=("g", "x", "k"))
case(**MOMENTS | {"facts": policy("private", "g", "x", "k")}, name="missing private",
     private="g x k", columns=["g", "x", "C(k)"])  # fmt: skip

# weighting
IPW: dict[str, Any] = {
    "method": "IPW", "delta": 1e-3, "outcome": "y", "treatment": "t", "covariates": ["x", "k", "s"],
    "lists": ("how many rows each person has",),
}  # fmt: skip
case(**IPW, name="ATE", private="y t x k s id", estimator="ipw")
case(**IPW, name="in an engine", private="y t x k", engine=True)
case(**IPW | {"outcome": "g"}, name="a constant", private="g t x",
     facts=policy(1.0, "g") | AT_ZERO)  # fmt: skip
case(**IPW, name="Hajek, Gaussian", private="y t x k s", hajek=True, noise="gaussian")
case(**IPW, name="ATT", private="y t x k s", estimand="att", treated=0.0, errors="conditional",
     hajek=True)  # fmt: skip
case(**IPW, name="share and sd declared", private="y t x k s", treated_share=0.3,
     facts={"y": {"sd": 0.1}})  # fmt: skip
case(**IPW, name="ATC, Hajek", private="y t x k s", estimand="atc", hajek=True)
for one in ("att", "atc"):
    case(**IPW | {"lists": ("who is treated, and how many",)}, name=f"{one}, treatment public",
         private="y x k s", estimand=one, neighbors="replace-one-design-public")  # fmt: skip
case(**IPW | {"covariates": ["x"]}, name="doubly robust", private="y t x", estimator="aipw")
case(**IPW, name="everything", private="y t x k s", balance=["x"], overlap=True, lam=0.1, trim=0.2,
     split=0.4, alphas=(0.01,), budget_shares={"effect": 0.2, "variance": 0.2, "gradient": 0.2,
     "balance": 0.2, "overlap": 0.2})  # fmt: skip
case(**IPW, name="weights", private="y t x", weights=[1.0] * ROWS)

# shapes
SHAPES: dict[str, Any] = {"lists": ("how many rows each person has",), "outcome": "y"}
ADDITIVE: dict[str, Any] = {"method": "PrivateAdditive", **SHAPES}
case(**ADDITIVE, name="pure", private="y x k s t id", features=["x", "k", "s"], subgroups=["t"],
     clip=1.0, pairs=[("x", "s")], categorical=["k"], bins=3)  # fmt: skip
case(**ADDITIVE | {"outcome": "g"}, name="Gaussian", private="g x t", features=["x", "t"],
     facts=policy(1.0, "g"), projection=["t"], delta=1e-3, neighbors="replace-one")  # fmt: skip
EFFECT: dict[str, Any] = {
    "method": "CATE", **SHAPES, "features": ["x", "k"], "treatment": "t",
}  # fmt: skip
case(**EFFECT, name="estimated", private="y x k t id", trim=0.2)
case(
    **EFFECT,
    name="parts",
    private="y x t",
    parts={"propensity": 0.25, "outcome": 0.25, "effect": 0.5},
)
case(**EFFECT, name="in an engine", private="y x t", propensity=0.5, engine=True)
case(**EFFECT, name="by a logit", private="y x k t", propensity_model="logit")
for learner in ("dr", "r", "s", "t"):
    case(**EFFECT, name=f"{learner}, known", private="y x k t", learner=learner, assignment=HALF)
case(**EFFECT, name="blocks", private="y x t block", assignment=dprct.Block("t", block="block"))
case(**EFFECT, name="shares lack a block", private="y x t block",
     assignment=dprct.Block("t", block="block", shares={1.0: 0.5, 2.0: 0.5, 3.0: 0.5}))  # fmt: skip
case(**EFFECT, name="counts", private="y x t", assignment=dprct.Complete("t", counts=12))
case(**EFFECT | {"outcome": "g"}, name="options", private="g x k s t", propensity=0.4,
     facts=policy(1.0, "g"), clip=2.0, parts={"outcome": 0.5, "effect": 0.5}, bins=3,
     categorical=["k"], pairs=[("x", "k")],
     subgroups=["s"], projection=["x"], delta=1e-3, neighbors="replace-one")  # fmt: skip

# synthetic control
CONTROL: dict[str, Any] = {
    "method": "SyntheticControl", "private": "y", "panel": True, "outcome": "y", "unit": "region",
    "time": "year", "treated": 11, "treatment_time": 2005,
    "lists": ("donors are", "the periods", "one row in every period"),
}  # fmt: skip
case(**CONTROL, name="ridge", lam=200.0, neighbors="replace-one")
case(**CONTROL, name="uniform", donor_weights="uniform", mean_effect=True, donors=list(range(9)))
case(**CONTROL, name="everything", donor_weights="auto", pre_fit=True, placebos=["0", "5"],
     bound=(0, 4), mean_effect=True, budget_shares={"donor_weights": 0.2, "prediction": 0.2,
     "mean": 0.2, "pre_fit": 0.2, "placebos": 0.2})  # fmt: skip
case(**CONTROL | {"private": "y x"}, name="predictors", predictors={"x": 2.0, "y(2001/2003)": 1.0})
case(**CONTROL, name="all placebos", placebos="all")
case(**CONTROL, name="changes", changes=(-2, 2))
case(**CONTROL, name="treated protected", protect_treated=True, noise="gaussian", delta=1e-3)
case(**CONTROL, name="concentrated", donor_weights="ridge", noise="concentrated", delta=1e-3,
     budget_shares={"donor_weights": 0.4, "prediction": 0.6})  # fmt: skip
case(**CONTROL, name="may be missing", facts={"y": {"missing": [".", ".a"]}})

# released tables


def fates_without(*used: str) -> dict[str, Any]:
    """Return the fates of the columns that a release does not use."""
    rest = [name for name in SCHEMA.names if name not in (*used, "id")]
    return {name: {"fate": "withheld"} for name in rest} | {"id": {"fate": "key"}}


MODELLED = ["g", "a", "b", "c", "block", "x", "k", "s"]
TABLE: dict[str, Any] = {
    "private": " ".join(MODELLED), "columns": MODELLED, "lists": ("how many rows each person has",),
    "facts": {"g": {"bins": 4}, **fates_without(*MODELLED)},
}  # fmt: skip
case("MVHistogram", "pure", random_draws=True, keep=["note1"], **TABLE)
case("MVHistogram", "stability", random_draws=True, delta=1e-3, **TABLE)
case("MVHistogram", "bins by zeta", random_draws=True, zeta=0.9, private="y id", columns=["y"],
     facts=fates_without("y"))  # fmt: skip
OUTCOME: dict[str, Any] = {
    **TABLE, "facts": {"g": {"bins": 4, "role": "outcome"}, **fates_without(*MODELLED)},
}  # fmt: skip
case("MVHistogram", "a binned outcome", random_draws=True, outcome_share=0.3, **OUTCOME)
case("Marginals", "a binned outcome", outcome_share=0.3, **OUTCOME)
case("Marginals", "pure", keep=["note1"], **TABLE)
case("Marginals", "Gaussian", delta=1e-3, default_bins=4, **TABLE)


def file_case(name: str, private: str, *, used: str, **options: Any) -> None:
    """Register a calibrated file on some columns; the others are withheld."""
    fates = fates_without(*used.split()) | options.pop("facts", {})
    given = {"lists": SIZES, "random_draws": True} | options
    case("Calibrated", name, private, facts=fates, **given)


WIDE = {"y": {"sd": 1.0}}
ON_T: dict[str, Any] = {"outcome": "y", "treatment": "t"}
file_case("auto", "y x id", used="y x t", covariates=["x"], **ON_T)
for rule in ("histogram", "marginals", "filler"):
    file_case(
        rule, "y x k", used="y x k t", covariates=["x", "C(k)"], covariate_release=rule, **ON_T
    )
file_case("options", "y x", used="y x t", covariates=["x"], alphas=(0.05,),
          budget_shares={"covariates": 0.3, "y": 0.7}, legal="strict", keep=["note1"],
          specifications=[""], facts={"y": {"sd": 1.0, "clip": True}}, **ON_T)  # fmt: skip
file_case(
    "moments",
    "y x",
    used="y x t",
    covariates=["x"],
    gamma="moments",
    delta=1e-3,
    covariate_release="histogram",
    **ON_T,
)
file_case("jointly", "y x", used="y x t", covariates=["x"], covariate_release="filler", delta=1e-3,
          facts=WIDE, **ON_T)  # fmt: skip
file_case("treatment private", "y x t", used="y x t", covariates=["x"], outcome="y", delta=1e-3,
          covariate_release="filler", neighbors="replace-one", lists=HIDDEN["lists"],
          assignment=HALF)  # fmt: skip
file_case("scales", "y x", used="y x t", covariates=["x"], covariate_release="filler", delta=1e-3,
          facts=WIDE, neighbors="replace-one", assignment=HALF, outcome="y",
          lists=HIDDEN["lists"])  # fmt: skip
file_case("declared regressions", "y", used="y t", formulas=["y ~ t"], delta=1e-3,
          assignment=dprct.Simple("t"), attrition=True, facts=WIDE)  # fmt: skip
file_case("blocks", "y", used="y t block", outcome="y", blocks="ignore", attrition=True,
          assignment=dprct.Block("t", block="block"))  # fmt: skip
file_case("subgroups", "y", used="y t block", outcome="y", subgroups=["block"], attrition=True,
          delta=1e-3, assignment=dprct.Block("t", block="block"))  # fmt: skip
file_case("clusters", "y", used="y t home", outcome="y", privacy_unit="cluster",
          assignment=dprct.Cluster("t", cluster="home", largest=4))  # fmt: skip
file_case("clusters, a correlation", "y", used="y t home", outcome="y",
          assignment=dprct.Cluster("t", cluster="home", icc={"y": 0.1}))  # fmt: skip
file_case("clusters, bounds on means", "y", used="y t home", outcome="y", assignment=dprct.Cluster(
          "t", cluster="home", cluster_mean_bounds=(0.0, 1.0)))  # fmt: skip
file_case("a control group", "y", used="y c", outcome="y", control="cash",
          assignment=dprct.Complete(["cash", "none"], arm="c"))  # fmt: skip
file_case("an index", "y x", used="y x t", covariates=["x"], index=steep_of_x, index_columns=["x"],
          index_bounds=(-3, 3), **ON_T)  # fmt: skip
file_case("two outcomes", "y g", used="y g t", outcome=["y", "g"], treatment="t",
          facts=policy(1.0, "g"), budget_shares={"y": 0.25, "g": 0.75})  # fmt: skip
file_case("missing public", "g x", used="g x t", outcome="g", treatment="t", covariates=["x"],
          facts=policy("public", "g"), present=("g",), lists=HAS)  # fmt: skip
file_case("missing private", "g x", used="g x t", outcome="g", treatment="t", covariates=["x"],
          facts=policy("private", "g"))  # fmt: skip
