"""Every strict method with every option that its constructor takes.

``CASES`` is what the auditor runs.  A new option of a constructor, or a new word that an option
allows, fails ``test_completeness.py`` until a case here gives it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl

import dprct
from dprct import Column, Schema, Unit
from dprct.io.stata import write_dta
from dprct.schema.made import made_columns, with_made
from dprct.study.prepare import Preparation, PublicFile, with_added
from dprct.study.restack import Append, Collapse, Reshape
from dprct.study.sections import Scope

from .neighbours import (
    DELTAS,
    FIELDS,
    HUGE,
    LARGE,
    MOST,
    NARROW,
    PRIVATE_ARMS,
    SIGNED,
    WIDE,
    Case,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

CASES: dict[str, Case] = {}
GIVEN: dict[type, list[dict[str, Any]]] = {}
"""The options that cases give to each class."""
STEPS_GIVEN: list[Append | Reshape | Collapse] = []
"""Steps of ``[[prepare]]`` that change rows."""


def case(method: Any, name: str, *, private: str, public: str = "", given: dict[str, Any],
         engine: bool = False, sample: str | None = None, derived: Mapping[str, str] | None = None,
         merged: PublicFile | None = None, restacked: Restacking | None = None,
         **facts: Any) -> None:  # fmt: skip
    """Register a case; ``private`` and ``public`` are names of columns, with spaces between.

    Of a ``sample``, the method gets the rows that a study file with this condition gives it, with
    ``derived`` the columns that a study file makes by these expressions, with ``merged`` those that
    it merges from a public file, and of ``restacked`` the rows that it makes of them.
    """
    if restacked is not None:
        STEPS_GIVEN.append(restacked.step)
    GIVEN.setdefault(method, []).append(given)
    words = f"{method.__module__.split('.')[1]}.{method.__name__}: {name}"

    def make(table: Any, schema: Any, held: Callable[[Any], Any] | None = None) -> Any:
        scope = Scope(sample=sample)
        table, schema = scope.sampled(table), replace(schema, sample=scope.condition)
        if restacked is not None:
            table, schema = restacked.of(table, schema)
        if merged is not None:
            table, schema = _with_merged(table, schema, merged)
        if derived is not None:
            table, schema = _with_derived(table, schema, derived)
        data = pl.from_pandas(table, nan_to_null=True).lazy() if engine else table
        return method(data if held is None else held(data), schema, **given)

    assert words not in CASES
    if "t" in private.split():
        facts = {"arms": PRIVATE_ARMS} | facts
    CASES[words] = Case(
        words, make, tuple(private.split()), tuple(public.split()), **facts
    )  # fmt: skip


@dataclass(frozen=True)
class Restacking:
    """A step of a study that changes rows, whose rows it protects then, and facts of new columns.

    Of an appended file the rows are every second of the table, so that a person has some in both.
    """

    step: Append | Reshape | Collapse
    unit: Unit
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def of(self, table: pd.DataFrame, schema: Schema) -> tuple[pd.DataFrame, Schema]:
        """Return the rows and their schema as a study file with this step has them."""
        self.step.check(self.unit)
        with TemporaryDirectory() as folder:
            if isinstance(self.step, Append):
                second = table.iloc[1::2].reset_index(drop=True)
                write_dta(second, Schema.from_frame(second), Path(folder, self.step.append))
                table = table.iloc[::2].reset_index(drop=True)
            schema = self.step.header(schema, Path(folder))
            table = self.step.rows(table, Path(folder))
        return table, schema.declare(unit=self.unit, **self.facts)


def _with_derived(table: Any, schema: Any, derived: Mapping[str, str]) -> tuple[Any, Any]:
    """Return a table with the columns that a study file makes of it, and their schema."""
    made = made_columns(derived, schema.columns, lambda one: replace(one, fate="modelled"))
    table = with_made(table, derived, {column.name: column for column in schema.columns})
    return table, replace(schema, columns=(*schema.columns, *made))


def _with_merged(table: Any, schema: Any, file: PublicFile) -> tuple[Any, Any]:
    """Return a table with the columns that a study merges into it, and their schema."""
    known = {column.name: column for column in schema.columns}
    whole = with_added(schema, [file], known)
    fate = known[file.keys[0].name].fate
    same = {one.name: {"fate": fate} for one in file.columns} if fate else {}
    return file.added_to(table), whole.declare(**same)


def _public_file(key: Column, *columns: Column, **values: Sequence[float]) -> PublicFile:
    """Return a file of public facts, a row for each level of its key, as a study has read it."""
    data = pd.DataFrame({key.name: key.levels, **values})
    rows = {(level,): at for at, level in enumerate(data[key.name].tolist())}
    part = Preparation("facts.dta", key.name)
    return PublicFile(part, Path(part.merge), "0" * 64, data, (key,), columns, rows)


def _scales(**sd: float) -> dict[str, dict[str, float]]:
    return {name: {"sd": scale} for name, scale in sd.items()}


def _policies(**policies: Any) -> dict[str, dict[str, Any]]:
    return {name: {"missing_policy": policy} for name, policy in policies.items()}


def _together(*each: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Facts of columns from several mappings; of a fact said twice, the last."""
    found: dict[str, dict[str, Any]] = {}
    for facts in each:
        for name, of_column in facts.items():
            found[name] = {**found.get(name, {}), **of_column}
    return found


def _fates(**fates: str) -> dict[str, dict[str, str]]:
    return {name: {"fate": fate} for name, fate in fates.items()}


CONFIRM = {"options": {"confirm": True}}
BOTH = (0.0, *DELTAS)
TINY = (40, 8, 2)


for engine in (False, True):
    case(
        dprct.MVHistogram, "all columns" + ", in Polars" * engine, private="y x g", given={},
        facts={"y": {"fate": "modelled", "bins": 3}, **_fates(x="modelled", g="modelled")},
        may_miss={"y": "private"}, deltas=BOTH, sizes=TINY, engine=engine, **CONFIRM,
    )  # fmt: skip
OUTCOME = {"y": {"fate": "modelled", "bins": 3, "role": "outcome"}}
for engine in (False, True):
    case(
        dprct.MVHistogram, "means of bins in each arm" + ", in Polars" * engine, private="y t x",
        given={"outcome_share": 0.5},
        facts=OUTCOME | {"t": {"fate": "modelled", "role": "treatment"}} | _fates(x="withheld"),
        may_miss={"y": "private"}, deltas=BOTH, sizes=TINY, engine=engine, **CONFIRM,
    )  # fmt: skip
case(
    dprct.MVHistogram, "means of bins, two rows a person", private="y x pid", given={}, rows=2,
    facts=OUTCOME | _fates(x="modelled", pid="key"), deltas=BOTH, sizes=TINY, **CONFIRM,
)  # fmt: skip
case(
    dprct.Marginals, "means of bins", private="y x", given={"outcome_share": 0.5},
    facts=OUTCOME | _fates(x="modelled"), deltas=BOTH, sizes=TINY, **CONFIRM,
)  # fmt: skip
case(
    dprct.MVHistogram, "named columns, zeta, kept notes", private="y x w", public="v",
    given={"columns": ["y", "x"], "zeta": 0.5, "keep": []},
    facts=_fates(w="filler", v="public"), deltas=BOTH, sizes=TINY, **CONFIRM,
)  # fmt: skip
case(
    dprct.MVHistogram, "two rows a person", private="y x pid", given={}, rows=2,
    facts={"y": {"fate": "modelled", "bins": 2}, **_fates(x="modelled", pid="key")},
    deltas=BOTH, sizes=TINY, **CONFIRM,
)  # fmt: skip
case(
    dprct.MVHistogram, "withheld, dropped, exclusive", private="y t w x y2", given={},
    facts={"y": {"fate": "modelled", "bins": 2}, "t": {"fate": "modelled"},
           **_fates(w="withheld", x="drop", y2="filler")},
    deltas=BOTH, sizes=TINY, **CONFIRM,
)  # fmt: skip
for engine in (False, True):
    case(
        dprct.Marginals, "all columns" + ", in Polars" * engine, private="y x g", given={},
        facts={"y": {"fate": "modelled", "bins": 3}, **_fates(x="modelled", g="modelled")},
        may_miss={"y": "private", "x": "private"}, deltas=BOTH, sizes=TINY, engine=engine,
        **CONFIRM,
    )  # fmt: skip
case(
    dprct.Marginals, "named columns, bins by default, two rows a person", private="y x pid w",
    given={"columns": ["y", "x"], "default_bins": 4, "keep": []}, rows=2,
    facts=_fates(pid="key", w="filler"), deltas=BOTH, sizes=TINY, **CONFIRM,
)  # fmt: skip


PUBLIC_ROWS = "block == 1 & v >= 0"
for method in (dprct.MVHistogram, dprct.Marginals):
    case(
        method, "a public sample", private="y x", public="block v", given={}, sample=PUBLIC_ROWS,
        facts={"y": {"fate": "modelled", "bins": 3},
               **_fates(x="modelled", block="public", v="public")},
        deltas=BOTH, sizes=(40, 8), **CONFIRM,
    )  # fmt: skip


ATE = dprct.PrivateATE
Y = {"outcome": "y", "treatment": "t"}


def effect(name: str, given: dict[str, Any], *, private: str = "y", public: str = "t",
           **facts: Any) -> None:  # fmt: skip
    """Register a case of PrivateATE."""
    case(ATE, name, private=private, public=public, given={"outcome": "y", **given}, **facts)


def halves(frame: Any, rng: Any) -> Any:
    """Treat half of the rows."""
    return (rng.permutation(len(frame)) < len(frame) // 2).astype(float)


def cut(rows: Any) -> Any:
    """Return a public index of a covariate."""
    return 0.25 * rows["w"].to_numpy()


for engine in (False, True):
    effect("two arms" + ", in Polars" * engine, {"treatment": "t"}, engine=engine)
effect("two arms, tiny", {"treatment": "t", "attrition": True, "alphas": (0.05, 0.01)},
       sizes=(6, 4, 2), arms=PRIVATE_ARMS)  # fmt: skip
effect("three arms", {"treatment": ["t", "t2"]}, public="t t2", arms=("three",), sizes=(36, 12))
CODES = dprct.Complete([0.0, 1.0, 2.0], arm="arm")
effect("another control", {"assignment": CODES, "control": 0.0}, public="arm", sizes=(36, 12))
effect(
    "two outcomes, weights, sd",
    {
        "outcome": ["y", "y2"],
        "treatment": "t",
        "budget_shares": {"y": 0.7, "y2": 0.3},
    },
    private="y y2",
    facts=_scales(y=0.5),
)
SEVERAL = {"outcome": ["y", "y2"]}
for engine in (False, True):
    effect("two outcomes" + ", in Polars" * engine, {**SEVERAL, "treatment": "t"}, private="y y2",
           engine=engine, facts=_scales(y=0.5, y2=2.0))  # fmt: skip
effect("two outcomes, three arms", {**SEVERAL, "treatment": ["t", "t2"]}, private="y y2",
       public="t t2", arms=("three",), sizes=(36, 12))  # fmt: skip
effect("two outcomes, one missing", {**SEVERAL, "treatment": "t"}, private="y y2",
       may_miss={"y2": "public"}, facts=_policies(y2="public"))  # fmt: skip
for rule in ("public", "private"):
    for engine in (False, True):
        effect(f"missing {rule}" + ", in Polars" * engine, {"treatment": "t"},
               may_miss={"y": rule}, facts=_policies(y=rule), engine=engine)  # fmt: skip
effect("missing is a number", {"treatment": "t"}, may_miss={"y": "private"},
       facts=_policies(y=0.5))  # fmt: skip
effect(
    "missing by outcome", {"outcome": ["y", "y2"], "treatment": "t"}, private="y y2",
    may_miss={"y": "private", "y2": "public"}, facts=_policies(y="private", y2="public"),
)  # fmt: skip
FACTORIAL = dprct.Factorial([dprct.Simple("t"), dprct.Simple("t2")])
for rule in ("arms", "main", "factorial"):
    effect(f"factorial, {rule}", {"assignment": FACTORIAL, "effects": rule}, public="t t2",
           arms=("cross",), sizes=(40, 16))  # fmt: skip
for rule in ("weight", "ignore"):
    effect(f"blocks, {rule}", {"assignment": dprct.Block("t", block="block"), "blocks": rule},
           public="t block")  # fmt: skip
effect("blocks of two, pooled",
       {"assignment": dprct.Block("t", block="pair"),
        "blocks": dict.fromkeys(map(float, range(8)), "rest")},
       public="t pair", arms=("alternate",), sizes=(16,))  # fmt: skip
CLUSTERS = dprct.Cluster("t", cluster="cluster")
effect("clusters, persons", {"assignment": CLUSTERS, "privacy_unit": "person"}, public="t cluster")
effect("clusters, a correlation", {"assignment": replace(CLUSTERS, icc=0.1)}, public="t cluster")
PAIRS = replace(CLUSTERS, largest=2)
for unit in ("person", "cluster"):
    whole = unit == "cluster"
    design = replace(PAIRS if whole else CLUSTERS, cluster_mean_bounds=(0.25, 0.75))
    effect(f"clusters, bounds on means{', whole' * whole}",
           {"assignment": design, "privacy_unit": unit}, public="t cluster")  # fmt: skip
effect("clusters", {"assignment": PAIRS, "privacy_unit": "cluster"}, public="t cluster")
INDEX: dict[str, dict[str, Any]] = {
    "a formula": {"index": "0.25*w"},
    "a function": {"index": cut, "index_columns": ["w"]},
}
for words, index in INDEX.items():
    effect(f"index is {words}", {**Y, **index, "index_bounds": (-1, 1)}, private="y w",
           bounds=(NARROW, SIGNED))  # fmt: skip
PRIVATE = {"neighbors": "replace-one"}
DESIGNS: dict[str, tuple[Any, str]] = {
    "simple": (dprct.Simple("t"), "t"),
    "complete": (dprct.Complete("t", shares=0.5), "t"),
    "blocks": (dprct.Block("t", block="block", shares=0.5), "t block"),
    "two arms": (dprct.Simple(["t", "t2"], shares=[0.3, 0.3]), "t t2"),
    "factorial": (FACTORIAL, "t t2"),
    "custom": (dprct.Custom(halves, "t", shares=0.5), "t"),
}
EXCLUSIVE = {name: {"exclusive": "arm"} for name in ("t", "t2")}
for words, (design, columns) in DESIGNS.items():
    apart = words == "two arms"
    effect(
        f"treatment private, {words}",
        {"assignment": design, **PRIVATE},
        private=f"y {columns}",
        public="",
        sizes=(40, 8),
        arms=("three", *PRIVATE_ARMS[1:]) if apart else PRIVATE_ARMS,
        facts=EXCLUSIVE if apart else {},
    )
for words in ("simple", "two arms"):
    effect(
        f"treatment private, two outcomes, {words}",
        {**SEVERAL, "assignment": DESIGNS[words][0], **PRIVATE},
        private=f"y y2 {DESIGNS[words][1]}", public="", sizes=(40, 8),
        arms=("three", *PRIVATE_ARMS[1:]) if words == "two arms" else PRIVATE_ARMS,
        facts=EXCLUSIVE if words == "two arms" else {},
    )  # fmt: skip
effect("treatment private, missing public", {"assignment": dprct.Simple("t"), **PRIVATE},
       private="y t", public="", may_miss={"y": "public"}, facts=_policies(y="public"))  # fmt: skip
effect("treatment private, missing a number", {"assignment": dprct.Simple("t"), **PRIVATE},
       private="y t", public="", may_miss={"y": "private"}, facts=_policies(y=0.0))  # fmt: skip


def jointly(name: str, given: dict[str, Any], **facts: Any) -> None:
    """Register a case of PrivateATE with a delta: all outcomes in one Gaussian release."""
    # no sampler reaches epsilon 50 at delta 1e-9 on so fine a grid: refused before a charge
    reached = {"deltas": DELTAS[:2], "epsilons": (1.0, 0.5, 3.0, 0.01, 50.0)}
    effect(f"jointly, {name}", given, **{"bounds": (NARROW, SIGNED, WIDE), **reached, **facts})


TWO = {"outcome": ["y", "y2"], "treatment": "t"}
for engine in (False, True):
    jointly("two outcomes" + ", in Polars" * engine, TWO, private="y y2", engine=engine)
jointly("scales", TWO, private="y y2", facts=_scales(y=0.2, y2=2.0))
jointly("clusters",
        {**TWO, "treatment": None, "assignment": replace(CLUSTERS, icc={"y": 0.1, "y2": 0.4})},
        private="y y2", public="t cluster")  # fmt: skip
jointly("one scale", TWO, private="y y2", facts=_scales(y=0.1))
jointly("three arms, another control", {"assignment": CODES, "control": 0.0}, public="arm",
        sizes=(36, 12))  # fmt: skip
jointly("factorial", {"assignment": FACTORIAL, "effects": "factorial"}, public="t t2",
        arms=("cross",), sizes=(40, 16))  # fmt: skip
for rule in ("weight", "ignore"):
    jointly(f"blocks, {rule}", {"assignment": dprct.Block("t", block="block"), "blocks": rule},
            public="t block")  # fmt: skip
for engine in (False, True):
    jointly("subgroups" + ", in Polars" * engine, {**TWO, "subgroups": ["x", "g"]},
            private="y y2 x g", may_miss={"x": "private"}, engine=engine)  # fmt: skip
jointly("blocks that are subgroups",
        {"assignment": dprct.Block("t", block="block"), "subgroups": ["block"]},
        public="t block")  # fmt: skip
jointly("treatment private, subgroups",
        {"assignment": dprct.Simple("t"), **PRIVATE, "subgroups": ["g"]},
        private="y t g", public="", sizes=(40, 8))  # fmt: skip
for engine in (False, True):
    jointly("missing public" + ", in Polars" * engine,
            TWO, private="y y2", may_miss={"y": "public", "y2": "public"},
            facts=_policies(y="public", y2="public"), engine=engine)  # fmt: skip
jointly("missing is a number", {"treatment": "t"}, may_miss={"y": "private"},
        facts=_policies(y=0.5))  # fmt: skip
for words, index in INDEX.items():
    jointly(f"index is {words}", {**Y, **index, "index_bounds": (-1, 1)}, private="y w",
            bounds=(NARROW, SIGNED))  # fmt: skip
for words, (design, columns) in DESIGNS.items():
    apart = words == "two arms"
    jointly(f"treatment private, {words}", {"assignment": design, **PRIVATE},
            private=f"y {columns}", public="", sizes=(40, 8),
            arms=("three", *PRIVATE_ARMS[1:]) if apart else PRIVATE_ARMS,
            facts=EXCLUSIVE if apart else {})  # fmt: skip
for engine in (False, True):
    jointly("treatment private, missing public" + ", in Polars" * engine,
            {"assignment": dprct.Simple("t"), **PRIVATE}, private="y t", public="",
            may_miss={"y": "public"}, facts=_policies(y="public"), engine=engine)  # fmt: skip
jointly("treatment private, outcomes, scales",
        {"outcome": ["y", "y2"], "assignment": dprct.Simple("t"), **PRIVATE},
        private="y y2 t", public="", facts=_scales(y=0.2, y2=2.0))  # fmt: skip


FILE = _fates(y="modelled", t="public", w="modelled", x="modelled")


def calibrated(name: str, given: dict[str, Any], *, private: str = "y w x", public: str = "t",
               facts: dict[str, Any] | None = None, **more: Any) -> None:  # fmt: skip
    """Register a case of Calibrated."""
    named = {name: FILE[name] for name in (*private.split(), *public.split()) if name in FILE}
    case(
        dprct.Calibrated, name, private=private, public=public,
        facts=_together(named, facts or {}),
        given={"outcome": "y", "treatment": "t", "covariates": ["w", "C(x)"], **given},
        **{"sizes": (40, 16), **CONFIRM, **more},
    )  # fmt: skip


for rule in ("auto", "histogram", "marginals", "filler"):
    calibrated(f"covariates {rule}", {"covariate_release": rule},
               deltas=(0.0,) if rule == "filler" else (0.0, 1e-4))  # fmt: skip
calibrated("in Polars", {"covariate_release": "histogram"}, engine=True)
calibrated("shares, specifications, alphas, kept notes",
           {"covariate_release": "marginals", "specifications": ["", "w"],
            "budget_shares": {"covariates": 0.5, "y": 0.5}, "alphas": (0.1,),
            "keep": []})  # fmt: skip
calibrated("strictly legal", {"covariate_release": "filler", "legal": "strict"})
calibrated("coefficients of covariates", {"covariate_release": "marginals", "gamma": "moments",
           "legal": "calibrated"}, deltas=DELTAS)  # fmt: skip
calibrated("no coefficients, public column", {"covariate_release": "filler", "gamma": "zero"},
           public="t v", facts=_fates(v="public"))  # fmt: skip
calibrated("a public sample", {"covariate_release": "filler"}, public="t block v",
           facts=_fates(block="public", v="public"), sample=PUBLIC_ROWS)  # fmt: skip
for rule in ("public", "private"):
    for engine in (False, True):
        calibrated(f"missing {rule}" + ", in Polars" * engine,
                   {"covariate_release": "filler"}, may_miss={"y": rule},
                   facts=_policies(y=rule), engine=engine)  # fmt: skip
for engine in (False, True):
    calibrated("subgroups that are blocks" + ", in Polars" * engine,
               {"covariate_release": "filler", "covariates": ["C(block)", "w"],
                "specifications": [""], "subgroups": ["block"],
                "assignment": dprct.Block("t", block="block"), "attrition": True},
               private="y w", public="t block", facts=_fates(block="public"), engine=engine,
               deltas=DELTAS)  # fmt: skip
calibrated("missing is a number", {"covariate_release": "filler"}, may_miss={"y": "private"},
           facts=_policies(y=0.5))  # fmt: skip
calibrated("clipped outcomes", {"covariate_release": "filler"}, may_miss={"y": "public"},
           facts={"y": {"clip": True, "missing_policy": "public"}})  # fmt: skip
calibrated(
    "covariates may be missing", {"covariate_release": "histogram"}, may_miss={"x": "private"}
)
calibrated("two outcomes, weights, sd", {"outcome": ["y", "y2"], "covariates": ["w"],
           "covariate_release": "filler", "budget_shares": {"y": 0.7, "y2": 0.3}},
           private="y y2 w", facts=_fates(y2="modelled") | _scales(y=0.5))  # fmt: skip
for rule in ("weight", "ignore"):
    calibrated(f"blocks, {rule}", {"covariates": ["w", "C(block)"], "covariate_release": "filler",
               "treatment": None, "assignment": dprct.Block("t", block="block"), "blocks": rule},
               private="y w", public="t block", facts=_fates(block="public"))  # fmt: skip
calibrated("clusters", {"covariates": ["w"], "covariate_release": "marginals", "treatment": None,
           "assignment": PAIRS, "privacy_unit": "cluster"},
           private="y w", public="t cluster", facts=_fates(cluster="public"))  # fmt: skip
calibrated("clusters, bounds on means", {"covariates": ["w"], "covariate_release": "filler",
           "treatment": None, "assignment": replace(CLUSTERS, cluster_mean_bounds=(0.25, 0.75))},
           private="y w", public="t cluster", facts=_fates(cluster="public"))  # fmt: skip
calibrated("clusters, a correlation", {"covariates": ["w"], "covariate_release": "filler",
           "treatment": None, "assignment": replace(CLUSTERS, icc={"y": 0.1})},
           private="y w", public="t cluster", facts=_fates(cluster="public"))  # fmt: skip
calibrated("another control, attrition",
           {"covariates": ["w"], "covariate_release": "filler", "treatment": None,
            "attrition": True, "assignment": CODES, "control": 0.0},
           private="y w", public="arm", facts=_fates(arm="public"), sizes=(36, 18))  # fmt: skip
for words, index in INDEX.items():
    calibrated(f"index is {words}",
               {"covariate_release": "filler", **index, "index_bounds": (-1, 1)},
               bounds=(NARROW, SIGNED))  # fmt: skip


def together(name: str, given: dict[str, Any], **facts: Any) -> None:
    """Register a case of Calibrated whose effects are one Gaussian release."""
    # no sampler reaches epsilon 50 at delta 1e-9 on so fine a grid: refused before a charge
    reached = {"deltas": DELTAS[:2], "epsilons": (1.0, 0.5, 3.0, 0.01, 50.0)}
    options = {"covariate_release": "filler", **given}
    calibrated(
        f"jointly, {name}", options, **{"bounds": (NARROW, SIGNED, WIDE), **reached, **facts}
    )


together("one outcome", {})
together("in Polars", {}, engine=True)
together("two outcomes, covariates, scales",
         {"outcome": ["y", "y2"], "covariates": ["w"], "covariate_release": "marginals"},
         private="y y2 w", sizes=(60,),
         facts=_together(_fates(y2="modelled"), _scales(y=0.2, y2=2.0)))  # fmt: skip
together("coefficients of covariates", {"covariate_release": "marginals", "gamma": "moments"})
together("missing public", {}, may_miss={"y": "public"}, facts=_policies(y="public"))
together("missing is a number, legal", {"legal": "strict"}, may_miss={"y": "private"},
         facts=_policies(y=0.5))  # fmt: skip
together("blocks", {"covariates": ["C(block)"], "treatment": None,
         "assignment": dprct.Block("t", block="block")},
         private="y", public="t block", facts=_fates(block="public"))  # fmt: skip
HIDDEN = {"treatment": None, "assignment": dprct.Complete("t", shares=0.5), **PRIVATE}
DRAWN: dict[str, Any] = {"private": "y w x t", "public": "", "facts": _fates(t="modelled")}
for engine in (False, True):
    together("treatment private" + ", in Polars" * engine, HIDDEN, engine=engine, **DRAWN)
together("treatment private, drawn covariates", {**HIDDEN, "covariate_release": "histogram"},
         **DRAWN)  # fmt: skip
together("treatment private, coefficients of covariates",
         {**HIDDEN, "covariate_release": "marginals", "gamma": "moments"}, **DRAWN)  # fmt: skip
together("treatment private, who has a value public", HIDDEN, may_miss={"y": "public"},
         **{**DRAWN, "facts": DRAWN["facts"] | _policies(y="public")})  # fmt: skip
together("treatment private, simple, two outcomes",
         {**HIDDEN, "assignment": dprct.Simple("t"), "outcome": ["y", "y2"], "covariates": ["w"],
          "neighbors": "replace-one"},
         **{**DRAWN, "private": "y y2 w t",
            "facts": _fates(t="modelled", y2="modelled")})  # fmt: skip
together("treatment private, three arms",
         {**HIDDEN, "assignment": dprct.Simple(["t", "t2"], shares=[0.3, 0.3])},
         **{**DRAWN, "private": "y w x t t2", "arms": ("three", *PRIVATE_ARMS[1:]),
            "facts": {name: {"fate": "modelled", "exclusive": "arm"}
                      for name in ("t", "t2")}})  # fmt: skip
together("treatment private, blocks public",
         {**HIDDEN, "assignment": dprct.Block("t", block="block", shares=0.5),
          "covariates": ["C(block)"]},
         private="y t", public="block", facts=_fates(t="modelled", block="public"))  # fmt: skip
calibrated("treatment public, as by default",
           {"covariate_release": "filler", "neighbors": "replace-one-design-public"})  # fmt: skip


def weighting(name: str, given: dict[str, Any], **facts: Any) -> None:
    """Register a case of IPW."""
    case(
        dprct.IPW, name,
        **{"private": "y w x t", "deltas": DELTAS, "sizes": (40, 24), **facts},
        given={"treatment": "t", "covariates": ["w", "x"], "outcome": "y", "estimator": "ipw",
               **given},
    )  # fmt: skip


for engine in (False, True):
    weighting("the effect" + ", in Polars" * engine, {}, engine=engine)
for rule in ("ate", "att", "atc"):
    for noise in ("laplace", "gaussian"):
        weighting(f"{rule}, {noise}", {"estimand": rule, "noise": noise, "errors": "total"})
    weighting(f"{rule}, Hajek", {"estimand": rule, "hajek": True, "noise": "gaussian"})
for rule in ("att", "atc"):
    weighting(f"{rule}, treatment public",
              {"estimand": rule, "neighbors": "replace-one-design-public", "hajek": False},
              private="y w x", public="t")  # fmt: skip
weighting("penalty, trimming, split, shares",
          {"lam": 0.1, "trim": 0.2, "split": 0.5, "errors": "conditional", "alphas": (0.1,),
           "budget_shares": {"effect": 0.6, "variance": 0.4}, "weights": None})  # fmt: skip
weighting("the share of treated and the sd declared", {"treated_share": 0.3},
          facts=_scales(y=0.2))  # fmt: skip
weighting("att, treatment public, its share declared",
          {"estimand": "att", "neighbors": "replace-one-design-public", "treated_share": 0.1},
          private="y w x", public="t")  # fmt: skip
weighting("doubly robust", {"estimator": "aipw", "trim": 0.2, "covariates": ["w"]},
          sizes=(1200,), epsilons=(8.0, 16.0))  # fmt: skip
weighting("doubly robust, shares, in Polars",
          {"estimator": "aipw", "budget_shares": {"fits": 0.5, "effect": 0.4, "variance": 0.1}},
          engine=True, sizes=(1200,), epsilons=(8.0, 16.0),
          may_miss={"y": "private", "w": "private"}, facts=_policies(y=0.5, w=0.0))  # fmt: skip
weighting("balance and overlap", {"balance": ["w"], "overlap": True, "treated": 1.0})
weighting("missing is a number", {}, may_miss={"y": "private", "w": "private"},
          facts=_policies(y=0.5, w=0.0))  # fmt: skip


FEATURES = {"outcome": "y", "features": ["w", "x"]}
TERMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "bins, categorical": {"bins": 4, "categorical": ["x"]},
    "pairs and subgroups": {"pairs": [("w", "x")], "subgroups": ["g"]},
    "projection": {"projection": ["w"]},
}


def additive(name: str, given: dict[str, Any], **facts: Any) -> None:
    """Register a case of PrivateAdditive."""
    case(dprct.PrivateAdditive, name, given={**FEATURES, **given},
         **{"private": "y w x g", "deltas": BOTH, "sizes": TINY, **facts})  # fmt: skip


for words, terms in TERMS.items():
    additive(words, terms)
additive("in Polars", {}, engine=True)
additive("clip, missing is a number", {"clip": 0.5, "neighbors": "replace-one"},
         may_miss={"y": "private", "x": "private"}, facts=_policies(y=0.5))  # fmt: skip


def learner(name: str, given: dict[str, Any], **facts: Any) -> None:
    """Register a case of CATE."""
    case(dprct.CATE, name, given={**FEATURES, "treatment": "t", **given},
         **{"private": "y w x g t", "deltas": BOTH, "sizes": (40, 16), **facts})  # fmt: skip


for words, terms in TERMS.items():
    learner(words, terms)
for engine in (False, True):
    learner("propensity known" + ", in Polars" * engine, {"propensity": 0.5}, engine=engine)
learner("treatment assigned", {"assignment": dprct.Simple("t")})
learner("assigned by blocks", {"assignment": dprct.Block("t", block="block", shares=0.5)},
        private="y w x t block")  # fmt: skip
for rule in ("dr", "r", "s"):
    learner(f"{rule}-learner", {"learner": rule, "propensity": 0.5, "neighbors": "replace-one"})
learner("R-learner, propensity estimated", {"learner": "r"})
learner("propensity by a logit", {"propensity_model": "logit"})
for engine in (False, True):
    learner("plug-in" + ", in Polars" * engine, {"learner": "t"}, engine=engine)
learner("clip, parts, trimming, missing is a number",
        {"clip": 1.0, "trim": 0.2,
         "parts": {"propensity": 0.25, "outcome": 0.25, "effect": 0.5}},
        may_miss={"y": "private"}, facts=_policies(y=0.5))  # fmt: skip


def moments(name: str, given: dict[str, Any], **facts: Any) -> None:
    """Register a case of PrivateMoments."""
    # no sampler reaches epsilon 50 at delta 1e-9 on so fine a grid: refused before a charge
    reached = {"deltas": DELTAS[:2], "epsilons": (1.0, 0.5, 3.0, 0.01, 50.0)}
    case(
        dprct.PrivateMoments, name, given=given,
        **{"private": "y w x g", "sizes": TINY, "bounds": (NARROW, SIGNED, WIDE), **reached,
           **facts},
    )  # fmt: skip


OF = {"columns": ["y", "w", "C(x)", "g", "w:x", "I(w ** 2)"]}
for engine in (False, True):
    moments("columns and products" + ", in Polars" * engine, OF, engine=engine)
CLASSICAL = {"cov_type": "nonrobust"}
moments("scales, a radius, centres",
        {"formulas": ["y ~ w + x"], "columns": ["g"], "radius": 0.7, **CLASSICAL},
        facts=_scales(y=0.2) | {"w": {"sd": 0.1, "centre": -0.5}})  # fmt: skip
moments("scales, projected by default",
        {**OF, "formulas": ["y ~ w + I(w ** 2) + w:x"], **CLASSICAL},
        facts=_scales(y=0.1, w=0.05))  # fmt: skip
for engine in (False, True):
    moments("how many are clipped" + ", in Polars" * engine,
            {"formulas": ["y ~ w"], "columns": ["g"], "radius": 0.5, "clipped": 0.02,
             "subgroups": ["x"], **CLASSICAL},
            facts=_scales(y=0.1, w=0.1), engine=engine)  # fmt: skip
moments("the box", {**OF, "formulas": ["y ~ w"], "radius": "box", **CLASSICAL},
        facts=_scales(y=0.1))  # fmt: skip
moments("formulas", {"formulas": ["y ~ x + w", "y ~ w:C(x) + g"]}, facts=_scales(y=0.5, w=0.5),
        grown=True)  # fmt: skip
for engine in (False, True):
    moments("values beyond the bounds" + ", in Polars" * engine,
            {"formulas": ["y ~ w"], **CLASSICAL}, engine=engine, facts={"y": {"clip": True}},
            )  # fmt: skip
moments("subgroups", {"columns": ["y", "w"], "subgroups": ["x", "g"]}, may_miss={"x": "private"})
for rule in ("replace-one", "replace-one-design-public"):
    hidden = rule == "replace-one"
    for engine in (False, True):
        moments(f"arms, {rule}" + ", in Polars" * engine,
                {"formulas": ["y ~ t + w"], "assignment": dprct.Simple("t"), "neighbors": rule,
                 "attrition": not hidden, "subgroups": ["x"], **CLASSICAL},
                private="y w x t" if hidden else "y w x", public="" if hidden else "t",
                sizes=(40, 16), engine=engine)  # fmt: skip
moments("three arms, another control",
        {"columns": ["y", "w"], "assignment": CODES, "control": 0.0, "attrition": True,
         "neighbors": "replace-one-design-public"},
        private="y w", public="arm", sizes=(36, 18))  # fmt: skip
moments("blocks that are groups",
        {"formulas": ["y ~ t"], "assignment": dprct.Block("t", block="block"),
         "subgroups": ["block"], "neighbors": "replace-one-design-public"},
        private="y w", public="t block", sizes=(40, 16))  # fmt: skip
for engine in (False, True):
    moments("missing public" + ", in Polars" * engine,
            {"columns": ["y", "w", "C(x)"]}, may_miss={"y": "public", "x": "public"},
            facts=_policies(y="public", x="public"), engine=engine)  # fmt: skip
for engine in (False, True):
    moments("missing private" + ", in Polars" * engine,
            {"columns": ["y", "w", "C(x)"]}, may_miss={"y": "private", "x": "private"},
            facts=_policies(y="private", x="private"), engine=engine)  # fmt: skip
moments("missing is a number", {"columns": ["y", "w"]},
        may_miss={"y": "private", "w": "private"}, facts=_policies(y=0.5, w=0.25))  # fmt: skip
for rule in ("replace-one", "replace-one-design-public"):
    hidden = rule == "replace-one"
    moments(f"robust errors, {rule}",
            {"formulas": ["y ~ t + w", "y + w ~ t*x"], "assignment": dprct.Simple("t"),
             "cov_type": "HC1", "neighbors": rule, "attrition": not hidden},
            private="y w x t" if hidden else "y w x", public="" if hidden else "t",
            sizes=(40, 16), grown=True)  # fmt: skip
for given in ({}, {"assignment": dprct.Simple("t")}):
    moments("weights" + ", arms" * ("assignment" in given),
            {"formulas": ["y ~ t + x + w"], "cov_type": "HC1", "weights": "v", "radius": 0.5,
             "clipped": 0.02, **given},
            private="y v x t w", sizes=(40, 16), grown=True,
            facts={} if given else _scales(y=0.2))  # fmt: skip
for policy in ("public", "private"):
    moments(f"robust errors, missing {policy}",
            {"formulas": ["y ~ w + x"], "cov_type": "HC1"},
            may_miss={"y": policy}, facts=_policies(y=policy), grown=True)  # fmt: skip
for most, radius in ((2, 0.3), (4, None)):
    moments(f"{most} rows of one person",
            {"formulas": ["y ~ w + x"], "columns": ["g"], "cov_type": "CR1", "radius": radius,
             "clipped": 0.1 if most == 2 else None, "weights": "v" if most == 4 else None,
             "subgroups": ["g"] * (most == 4)}, facts=_scales(y=0.2, w=0.3),
            private="y w x g v pid", rows=most, sizes=(40, 16), grown=True)  # fmt: skip
for most, radius in ((2, 0.3), (4, None)):
    moments(f"effects of persons, {most} rows of each",
            {"formulas": ["y ~ w + C(x) + w:g | pid"], "columns": ["g"], "cov_type": "CR1",
             "radius": radius, "clipped": 0.1 if most == 2 else None},
            facts={"y": {"sd": 0.2, "sd_within": 0.1}, **_scales(w=0.3)},
            private="y w x g pid", rows=most, sizes=(40, 16), grown=True)  # fmt: skip
moments("villages that are assigned",
        {"formulas": ["y ~ t + w"], "assignment": dprct.Cluster("t", cluster="pid"),
         "cov_type": "CR1", "neighbors": "replace-one-design-public", "attrition": True},
        private="y w", public="t pid cluster", rows=2, sizes=(40, 16), grown=True)  # fmt: skip


def scores(name: str, given: dict[str, Any], *, least: float = 0.5, **facts: Any) -> None:
    """Register a case whose rows and budget are so many that the releases of scores are not zero.

    One person's score is as large as any, so that each release moves by at least half its claim.
    """
    large = {"sizes": (2000,), "epsilons": LARGE, "deltas": DELTAS[:1], "bounds": (NARROW,)}
    moments(f"scores, {name}", given, **large, spread=0.2, least=least, **facts)


for errors in (None, "HC1"):
    scores(f"cov_type={errors}", {"formulas": ["y ~ w"], "cov_type": errors}, private="y w")
for rule in ("replace-one", "replace-one-design-public"):
    hidden = rule == "replace-one"
    scores(f"HC1, arms, {rule}",
           {"formulas": ["y ~ t + w", "w ~ t"], "assignment": dprct.Simple("t"),
            "cov_type": "HC1", "neighbors": rule, "attrition": not hidden},
           private="y w t" if hidden else "y w", public="" if hidden else "t",
           least=0.1)  # fmt: skip
scores("HC1, weights", {"formulas": ["y ~ w"], "cov_type": "HC1", "weights": "v"}, private="y w v")
for policy in ("public", "private"):
    scores(f"HC1, missing {policy}",
           {"formulas": ["y ~ w"], "cov_type": "HC1"}, private="y w",
           may_miss={"y": policy}, facts=_policies(y=policy))  # fmt: skip
scores("CR1", {"formulas": ["y ~ w"], "cov_type": "CR1"}, private="y w pid", rows=2)
scores("CR1, effects of persons", {"formulas": ["y ~ w | pid"], "cov_type": "CR1"},
       private="y w pid", rows=2)  # fmt: skip

PERSON = Unit("person", id="pid", max_rows=2)
scores("CR1, rounds appended", {"formulas": ["y ~ w"], "cov_type": "CR1"}, private="y w pid",
       rows=2, restacked=Restacking(Append("second.dta"), PERSON))  # fmt: skip
LONG = Restacking(Reshape("long", ("y",), "pid", "year", (1.0, 2.0)), PERSON)
for ids in ("", " pid"):
    scores("CR1, waves as rows" + ", numbered" * (not ids),
           {"formulas": ["y ~ w"], "cov_type": "CR1"}, private="y1 y2 w" + ids,
           facts={"y2": {"bounds": NARROW}}, restacked=LONG)  # fmt: skip
moments("waves as columns", {"columns": ["y0", "y1", "w"]}, private="y w x pid", rows=2,
        restacked=Restacking(Reshape("wide", ("y",), "pid", "x", (0.0, 1.0)),
                             Unit("person", id="pid"), _policies(y0=0.5, y1=0.5)),
        bounds=(NARROW,))  # fmt: skip
moments("means of villages", {"columns": ["y", "n", "w", "most"]}, private="y w pid", rows=2,
        restacked=Restacking(
            Collapse({"y": "mean", "n": "count y", "w": "median", "most": "max y"}, "pid"),
            Unit("village", id="pid"),
            {"y": {"bounds": NARROW, "missing": ()}, "n": {"bounds": (0, 2)},
             "w": {"bounds": (-1, 1), "missing": ()}, "most": {"missing": ()}},
        ), bounds=(NARROW,))  # fmt: skip


LOGIT = dprct.Regression("took ~ t + w", family="logit")
COUNTS = {"facts": {"y": {"bounds": (0.0, 9.0), "sd": 2.0}}}
for engine in (False, True):
    scores("logit" + ", in Polars" * engine,
           {"formulas": [LOGIT], "assignment": dprct.Simple("t"), "attrition": True,
            "neighbors": "replace-one-design-public"},
           private="took w", public="t", least=0.0, engine=engine)  # fmt: skip
scores("logit, treatment private, beside others",
       {"formulas": [LOGIT, "y ~ w"], "assignment": dprct.Simple("t")}, private="y w took t",
       least=0.0)  # fmt: skip
scores("logit of clusters, and beside one step",
       {"formulas": [dprct.Regression("took ~ t + w", family="logit", cluster="pair"), "y ~ t + w"],
        "assignment": dprct.Simple("t"), "neighbors": "replace-one-design-public",
        "attrition": True},
       private="y w took", public="t pair", least=0.0,
       facts={"pair": {"levels": None, "type": "int", "fate": "public"}})  # fmt: skip
scores("logit of clusters in two ways",
       {"formulas": [dprct.Regression("took ~ t + w", family="logit", cluster=("pair", "year"))],
        "assignment": dprct.Simple("t"), "neighbors": "replace-one-design-public",
        "attrition": True},
       private="took w", public="t pair year", least=0.0,
       facts={one: {"levels": None, "type": "int", "fate": "public"}
              for one in ("pair", "year")})  # fmt: skip
for engine in (False, True):
    scores("logit of some, with weights" + ", in Polars" * engine,
           {"formulas": [dprct.Regression("took ~ t + w", family="logit", where="g == 'a'"),
                         dprct.Regression("took ~ w", family="logit", where="x >= 1", weights="v")],
            "assignment": dprct.Simple("t")}, private="took w t g x v", least=0.0, engine=engine,
           facts={"v": {"bounds": (0.0, 8.0)}})  # fmt: skip
scores("logit of some people of clusters in two ways, with weights",
       {"formulas": [dprct.Regression("took ~ t + w", family="logit", cluster=("pair", "year"),
                                      where="x >= 1", weights="v")],
        "assignment": dprct.Simple("t"), "neighbors": "replace-one-design-public",
        "attrition": True},
       private="took w x v", public="t pair year", least=0.0,
       facts={"v": {"bounds": (0.0, 7.0)},
              **{one: {"levels": None, "type": "int", "fate": "public"}
                 for one in ("pair", "year")}})  # fmt: skip
scores("probit, nonrobust, missing private",
       {"formulas": [dprct.Regression("took ~ w", family="probit")], "cov_type": "nonrobust"},
       private="took w", may_miss={"w": "private"}, facts=_policies(w="private"),
       least=0.0)  # fmt: skip
scores("cloglog, of some", {"formulas": [dprct.Regression("took ~ w", family="cloglog",
                                                         where="x >= 1")]}, private="took w x",
       least=0.0)  # fmt: skip
scores("poisson", {"formulas": [dprct.Regression("y ~ w", family="poisson")]}, private="y w",
       least=0.0, **COUNTS)  # fmt: skip


def declared(name: str, given: dict[str, Any], **facts: Any) -> None:
    """Register a case of declared regressions: of rows so many that their fits are drawn."""
    scales = _together(_scales(y=0.2), facts.pop("facts", {}))
    moments(f"declared, {name}", {"neighbors": "replace-one-design-public", "attrition": True,
                                  **given},
            **{"private": "y w x", "public": "t", "sizes": (1200,), "epsilons": (8.0, 16.0),
               "bounds": (NARROW, SIGNED), "facts": scales, **facts})  # fmt: skip


for engine in (False, True):
    declared("adjusted" + ", in Polars" * engine,
             {"formulas": ["y ~ t + w", "y + w ~ t + C(x)"], "assignment": dprct.Simple("t")},
             engine=engine)  # fmt: skip
declared("blocks, other things read off the moments",
         {"formulas": ["y ~ t + w | block", "y ~ w + x"], "columns": ["g"],
          "assignment": dprct.Block("t", block="block"), "cov_type": "HC1"},
         private="y w x g", public="t block")  # fmt: skip
MADE = {"late": "where(w > 0.5, 1, 0)", "sum": "w + x", "w2": "w ** 2"}
declared("columns that the study makes",
         {"formulas": ["y ~ t + w2", "sum ~ t", dprct.Regression("y ~ t + w", where="late == 1")],
          "assignment": dprct.Simple("t")},
         derived=MADE)  # fmt: skip
IN_X = _public_file(FIELDS["x"], Column("km", bounds=(0.3, 7.0), missing=()),
                    Column("road", "byte", levels=(0.0, 1.0), missing=()),
                    km=(0.3, 7.0, 2.1), road=(1.0, 0.0, 1.0))  # fmt: skip
declared("columns that the study merges by a private key",
         {"formulas": ["y ~ t + km", "km ~ t", dprct.Regression("y ~ t + w", where="road == 1")],
          "assignment": dprct.Simple("t")},
         merged=IN_X, derived={"far": "where(km > 2, 1, 0)"})  # fmt: skip
IN_BLOCK = _public_file(FIELDS["block"], Column("km", bounds=(1.0, 7.0), missing=()), km=(7.0, 1.7))
declared("weights that the study merges by a public key",
         {"formulas": [dprct.Regression("y ~ t + w | block", weights="km")],
          "assignment": dprct.Block("t", block="block")},
         public="t block", facts={"block": {"fate": "public"}}, merged=IN_BLOCK)  # fmt: skip
for engine in (False, True):
    declared("conditions on public columns" + ", in Polars" * engine,
             {"formulas": [dprct.Regression("y ~ t + w", where="pair >= 200 & pair < 450"),
                           dprct.Regression("w ~ t | block", where="!(pair >= 200 & pair < 450)")],
              "assignment": dprct.Block("t", block="block")},
             private="y w x", public="t block pair", engine=engine,
             facts={"pair": {"levels": None, "type": "int", "fate": "public"}})  # fmt: skip
for engine in (False, True):
    declared("a condition on who has a value" + ", in Polars" * engine,
             {"formulas": [dprct.Regression("y ~ t + w", where="x < . & w < . & !inlist(t, 2, 3)")],
              "assignment": dprct.Simple("t")},
             private="y w x", public="t", may_miss={"x": "public"}, facts=_policies(x="public"),
             engine=engine)  # fmt: skip
for engine in (False, True):
    declared("weights that are public" + ", in Polars" * engine,
             {"formulas": [dprct.Regression("y ~ t + w | block", weights="v"),
                           dprct.Regression("w ~ t", weights="v", where="v < 5")],
              "assignment": dprct.Block("t", block="block")},
             private="y w x", public="t block v", engine=engine,
             facts={"v": {"fate": "public", "bounds": (1.0, 8.0)}})  # fmt: skip
for engine in (False, True):
    declared("people whom private columns choose" + ", in Polars" * engine,
             {"formulas": [dprct.Regression("y ~ t + w", where="g == 'a'"),
                           dprct.Regression("y ~ t + w", where="g == 'b' & x >= 1"), "y ~ t + w"],
              "assignment": dprct.Simple("t")}, private="y w x g", engine=engine)  # fmt: skip
declared("classical errors of people whom private columns choose",
         {"formulas": [dprct.Regression("y ~ t + w", where="g == 'a'", cov_type="nonrobust"),
                       dprct.Regression("w ~ t", where="g == 'b' & x >= 1", cov_type="nonrobust")],
          "assignment": dprct.Simple("t")}, private="y w x g")  # fmt: skip
declared("an amount that is made of treatment",
         {"formulas": ["y ~ block", dprct.Regression("w ~ block", where="x == 1")],
          "assignment": dprct.Simple("t")}, public="t block",
         facts={"block": {"made_of": ("t",)}})  # fmt: skip
declared("an amount that is made of treatment and of a private column",
         {"formulas": ["y ~ t + v"], "assignment": dprct.Simple("t")}, private="y w x v",
         facts={"v": {"made_of": ("t", "x"), "bounds": (0.0, 8.0)}})  # fmt: skip
declared("an amount that the study makes of treatment",
         {"formulas": ["y ~ cents + w", dprct.Regression("w ~ cents", where="x == 1")],
          "assignment": dprct.Simple("t")}, derived={"cents": "100 * t"})  # fmt: skip
for engine in (False, True):
    declared("a dose, products with a public column" + ", in Polars" * engine,
             {"formulas": ["y ~ arm + w", dprct.Regression("w ~ arm:block + block", name="by")],
              "assignment": dprct.Simple([0.0, 1.0, 2.0], arm="arm"), "control": 0.0},
             private="y w", public="arm block", facts={"block": {"fate": "public"}},
             engine=engine)  # fmt: skip
declared("people whom one private condition chooses, weights that are public",
         {"formulas": [dprct.Regression("y ~ t + w | block", weights="v", where="x == 1")],
          "assignment": dprct.Block("t", block="block")}, public="t block v",
         facts={"v": {"fate": "public", "bounds": (1.0, 8.0)}})  # fmt: skip
declared("people of villages whom private columns choose",
         {"formulas": [dprct.Regression("y ~ t + w", where="x == 1"),
                       dprct.Regression("y ~ t", where="x != 1")],
          "assignment": dprct.Cluster("t", cluster="pair")}, public="t pair",
         facts={"pair": {"levels": None, "type": "int"}}, arms=("halves",))  # fmt: skip
for engine in (False, True):
    declared("treatment that is private" + ", in Polars" * engine,
             {"formulas": [dprct.Regression("y ~ t + w", name="all"),
                           dprct.Regression("y ~ t + w", where="x == 1")],
              "assignment": dprct.Simple("t"), "neighbors": "replace-one", "attrition": False},
             private="y w x t", public="", engine=engine)  # fmt: skip
declared("treatment and values that are private, errors of villages",
         {"formulas": [dprct.Regression("y ~ t + w", cluster="pair")],
          "assignment": dprct.Simple("t"), "neighbors": "replace-one", "attrition": False},
         private="y w t", public="pair", may_miss={"y": "private"},
         facts=_policies(y="private") | {"pair": {"levels": None, "type": "int",
                                                   "fate": "public"}})  # fmt: skip
for engine in (False, True):
    declared("values that are private, within blocks" + ", in Polars" * engine,
             {"formulas": ["y ~ t + w | block",
                           dprct.Regression("y ~ t | block", where="x == 1", name="some")],
              "assignment": dprct.Block("t", block="block")},
             private="y w x", public="t block", may_miss={"y": "private"},
             facts=_policies(y="private"), engine=engine)  # fmt: skip
for unit in ("people", "villages"):
    own = {} if unit == "people" else {"cluster": "pair"}
    declared(f"values that are private, within blocks, public weights, {unit}",
             {"formulas": [dprct.Regression("y ~ t + w | block", weights="v", **own),
                           dprct.Regression("y ~ t | block", weights="v", where="x == 1", **own)],
              "assignment": dprct.Block("t", block="block")},
             public="t block v pair", may_miss={"y": "private"},
             facts=_together(_policies(y="private"), {
                 "v": {"fate": "public", "bounds": (1.0, 7.0)},
                 "pair": {"levels": None, "type": "int", "fate": "public"}}))  # fmt: skip
for hidden in (False, True):
    declared("weights that are private" + ", as is treatment" * hidden,
             {"formulas": [dprct.Regression("y ~ t + w", weights="v")],
              "assignment": dprct.Simple("t"), "attrition": not hidden,
              "neighbors": "replace-one" if hidden else "replace-one-design-public"},
             private="y w v t" if hidden else "y w v", public="" if hidden else "t",
             facts={"v": {"bounds": (0.0, 8.0)}})  # fmt: skip
for engine in (False, True):
    declared("an instrument" + ", in Polars" * engine,
             {"formulas": [dprct.Regression("y ~ x + [took ~ t]", name="late"), "y ~ t"],
              "assignment": dprct.Simple("t")}, private="y x took", engine=engine)  # fmt: skip
for engine in (False, True):
    declared("joint tests, on other rows" + ", in Polars" * engine,
             {"formulas": [dprct.Regression("y + w ~ t + x", joint="all"),
                           dprct.Regression("w ~ t", where="pair >= 200", name="late", joint="all"),
                           dprct.Regression("y ~ t", where="pair < 500", joint="two"),
                           dprct.Regression("w ~ t", where="pair < 500", joint="two")],
              "assignment": dprct.Simple("t")},
             private="y w x", public="t pair", engine=engine,
             facts={"pair": {"levels": None, "type": "int", "fate": "public"}})  # fmt: skip
declared("joint tests, villages",
         {"formulas": [dprct.Regression("y + w ~ t", joint="all"),
                       dprct.Regression("y ~ t", where="pair >= 200", name="late", joint="all")],
          "assignment": dprct.Cluster("t", cluster="pair")},
         private="y w", public="t pair", arms=("halves",),
         facts={"pair": {"levels": None, "type": "int", "fate": "public"}})  # fmt: skip
for engine in (False, True):
    declared("people who were assigned, errors of pairs" + ", in Polars" * engine,
             {"formulas": [dprct.Regression("y ~ t + w", cluster="pair"),
                           dprct.Regression("w ~ t", cluster="pair", where="pair >= 200")],
              "assignment": dprct.Simple("t")},
             private="y w", public="t pair", engine=engine,
             facts={"pair": {"levels": None, "type": "int", "fate": "public"}})  # fmt: skip
for engine in (False, True):
    declared("classical errors" + ", in Polars" * engine,
             {"formulas": [dprct.Regression("y ~ t + w | block", cov_type="nonrobust"),
                           dprct.Regression("w ~ t | block", cov_type="nonrobust",
                                            where="pair >= 200", count_effects=False)],
              "assignment": dprct.Block("t", block="block")},
             private="y w", public="t block pair", engine=engine,
             facts={"pair": {"levels": None, "type": "int", "fate": "public"}})  # fmt: skip
declared("classical errors of persons of several rows",
         {"formulas": [dprct.Regression("w ~ t + C(x)", cov_type="nonrobust"),
                       dprct.Regression("w ~ t:x + C(x) | pid", count_effects=True)],
          "assignment": dprct.Cluster("t", cluster="pid")},
         private="w", public="t pid pair x", rows=2, arms=("halves",),
         facts={"x": {"fate": "public"}})  # fmt: skip
declared("persons of several rows",
         {"formulas": ["y ~ t + w + C(x)", "w ~ t:x + C(x) | pid"],
          "assignment": dprct.Cluster("t", cluster="pid")},
         private="y w", public="t pid pair x", rows=2, arms=("halves",),
         facts={"x": {"fate": "public"}})  # fmt: skip
declared("persons of several rows, some by a private column",
         {"formulas": [dprct.Regression("y ~ t + w + C(x)", where="g == 'a'"),
                       dprct.Regression("w ~ t:x + C(x) | pid", where="g == 'b'"),
                       "y ~ t + C(x)"],
          "assignment": dprct.Cluster("t", cluster="pid")},
         private="y w g", public="t pid pair x", rows=2, arms=("halves",), grown=True,
         facts={"x": {"fate": "public"}})  # fmt: skip
for engine in (False, True):
    declared("clusters of different columns" + ", in Polars" * engine,
             {"formulas": [dprct.Regression("y ~ t + w", cluster="pair"),
                           dprct.Regression("w ~ t", cluster="cluster", joint="all"),
                           dprct.Regression("y ~ t", cluster="cluster", joint="all"),
                           dprct.Regression("w ~ t", cov_type="HC1")],
              "assignment": dprct.Simple("t")},
             private="y w", public="t pair cluster", engine=engine,
             facts={name: {"levels": None, "type": "int", "fate": "public"}
                    for name in ("pair", "cluster")})  # fmt: skip
for engine in (False, True):
    declared("errors clustered in two ways" + ", in Polars" * engine,
             {"formulas": [dprct.Regression("y ~ t + w", cluster=("pair", "year")),
                           dprct.Regression("w ~ t", cluster=("pair", "year"),
                                            where="pair >= 200")],
              "assignment": dprct.Simple("t")},
             private="y w", public="t pair year", engine=engine,
             facts={name: {"levels": None, "type": "int", "fate": "public"}
                    for name in ("pair", "year")})  # fmt: skip
declared("villages that are assigned and are the unit",
         {"formulas": ["y ~ t + w"], "assignment": dprct.Cluster("t", cluster="pid"),
          "cov_type": "CR1"},
         private="y w", public="t pid cluster", rows=2)  # fmt: skip
declared("persons of several rows, on and off",
         {"formulas": ["y ~ t + w | pid", "w ~ t + C(x)"], "assignment": dprct.Simple("t")},
         private="y w", public="t pid x", rows=2, facts={"x": {"fate": "public"}})  # fmt: skip
declared("an instrument that villages were assigned",
         {"formulas": ["y ~ w + [took ~ t]"], "assignment": dprct.Cluster("t", cluster="pair")},
         private="y w took", public="t pair", facts={"pair": {"levels": None, "type": "int"}},
         arms=("halves",))  # fmt: skip
declared("three arms, a missing outcome public, a covariate's a number",
         {"formulas": ["y ~ C(arm) + w"], "assignment": CODES, "control": 0.0},
         private="y w", public="arm", may_miss={"y": "public", "w": "private"},
         facts=_policies(y="public", w=0.25))  # fmt: skip
for engine in (False, True):
    declared("products of treatment and covariates" + ", in Polars" * engine,
             {"formulas": ["y ~ t*w + C(x)", "w ~ t*C(x)", "y ~ t + w"],
              "assignment": dprct.Simple("t")}, engine=engine)  # fmt: skip
declared("products of treatment and covariates, public weights",
         {"formulas": [dprct.Regression("y ~ t*w + C(x) | block", weights="v")],
          "assignment": dprct.Block("t", block="block")}, public="t block v",
         facts={"v": {"fate": "public", "bounds": (1.0, 8.0)}})  # fmt: skip
for engine in (False, True):
    declared("products of treatment and covariates, private weights" + ", in Polars" * engine,
             {"formulas": [dprct.Regression("y ~ t*w", weights="v"),
                           dprct.Regression("y ~ t*w", where="x == 1", name="some")],
              "assignment": dprct.Simple("t")}, private="y w v x", engine=engine,
             facts={"v": {"bounds": (0.0, 8.0)}})  # fmt: skip
declared("products of some people of villages, private weights",
         {"formulas": [dprct.Regression("y ~ t*w", weights="v", where="x >= 1", cluster="pair")],
          "assignment": dprct.Simple("t")}, private="y w v x", public="t pair",
         facts={"v": {"bounds": (0.0, 7.0)},
                "pair": {"levels": None, "type": "int", "fate": "public"}})  # fmt: skip
declared("products of treatment and covariates, villages",
         {"formulas": ["y ~ t*w"], "assignment": dprct.Cluster("t", cluster="pair")},
         private="y w", public="t pair",
         facts={"pair": {"levels": None, "type": "int"}}, arms=("halves",))  # fmt: skip
for engine in (False, True):
    declared("villages that were assigned" + ", in Polars" * engine,
             {"formulas": ["y ~ t + w", dprct.Regression("w ~ t", name="w", cluster="pair")],
              "assignment": dprct.Cluster("t", cluster="pair"), "cov_type": "CR1"},
             private="y w", public="t pair", engine=engine,
             facts={"pair": {"levels": None, "type": "int"}}, arms=("halves",))  # fmt: skip


def carried(name: str, given: dict[str, Any], *, public: str = "t", **more: Any) -> None:
    """Register a case of declared regressions that a calibrated file carries."""
    named: dict[str, Any] = {name: FILE[name] for name in ("y", "w", "x")}
    named |= {**_fates(**dict.fromkeys(public.split(), "public")), **more.pop("facts", {})}
    named["y"] = {**named["y"], "sd": 0.2}
    case(
        dprct.Calibrated, f"declared, {name}",
        given={"covariate_release": "filler", "attrition": True, **given},
        **{"private": "y w x", "public": public, "sizes": (1200,), "epsilons": (8.0, 16.0),
           "deltas": DELTAS[:2], "bounds": (NARROW, SIGNED), "facts": named, **CONFIRM, **more},
    )  # fmt: skip


for engine in (False, True):
    carried("adjusted" + ", in Polars" * engine,
            {"formulas": ["y ~ t + w", "x ~ t + w", "y ~ t"], "assignment": dprct.Simple("t")},
            engine=engine)  # fmt: skip
carried("villages that were assigned, a condition, covariates drawn",
        {"formulas": [dprct.Regression("y ~ t + w", where="pair >= 200 & pair < 450", name="y"),
                      dprct.Regression("y ~ t + x", where="!(pair >= 200 & pair < 450)")],
         "assignment": dprct.Cluster("t", cluster="pair"), "covariate_release": "histogram"},
        public="t pair", arms=("halves",),
        facts={"pair": {"levels": None, "type": "int", "fate": "public"}})  # fmt: skip


CONTROL: dict[str, Any] = {
    "outcome": "y", "unit": "region", "time": "year", "treatment_time": 2004,
}  # fmt: skip


def control(name: str, given: dict[str, Any], **facts: Any) -> None:
    """Register a case of SyntheticControl; the last region is the treated one."""

    def method(table: Any, schema: Any, **options: Any) -> Any:
        treated = table["region"].max()
        if options.pop("_donors", False):
            options["donors"] = [d for d in np.unique(table["region"]) if d != treated]
        return dprct.SyntheticControl(table, schema, treated=treated, **options)

    words = f"estimate.SyntheticControl: {name}"
    options = {**CONTROL, **given}
    said = {**options, "treated": "the last", **({"donors": "all"} if "_donors" in given else {})}
    GIVEN.setdefault(dprct.SyntheticControl, []).append(said)

    def made(table: Any, schema: Any, held: Callable[[Any], Any] | None = None) -> Any:
        return method(table if held is None else held(table), schema, **options)

    defaults: dict[str, Any] = {"private": ("y",), "sizes": (5, 2)}
    CASES[words] = Case(words, made, panel=True, **{**defaults, **facts})


for rule in ("ridge", "uniform", "auto"):
    for noise in ("laplace", "gaussian", "concentrated"):
        control(f"{rule}, {noise}", {"donor_weights": rule, "noise": noise},
                deltas=(0.0,) if noise == "laplace" else DELTAS)  # fmt: skip
WAYS: dict[str, dict[str, Any]] = {
    "": {}, ", protected": {"protect_treated": True},
    ", placebos": {"placebos": "all", "pre_fit": True},
}  # fmt: skip
for words, given in WAYS.items():
    control(f"changes{words}", {"changes": (-0.5, 0.5), **given},
            treated_private="protect_treated" in given)  # fmt: skip
control("penalty, bounds of its own, donors named", {"lam": 2.0, "bound": (-1, 2), "_donors": True})
control("the treated is protected", {"protect_treated": True, "neighbors": "replace-one"},
        treated_private=True)  # fmt: skip
control("mean, path before, placebos",
        {"mean_effect": True, "pre_fit": True, "placebos": "all",
         "budget_shares": {"donor_weights": 0.2, "prediction": 0.2, "mean": 0.2, "pre_fit": 0.2,
                    "placebos": 0.2}})  # fmt: skip
control("predictors", {"predictors": {"w": 100.0}, "noise": "gaussian"}, private=("y", "w"),
        deltas=DELTAS)  # fmt: skip
control("predictors over periods, missing ones, placebos, the treated protected",
        {"predictors": ["w(2000/2002)", "v", "y(2001&2003)"], "placebos": "all",
         "protect_treated": True}, private=("y", "w", "v"), may_miss={"v": "private"},
        treated_private=True)  # fmt: skip

__all__ = ["CASES", "GIVEN", "HUGE", "MOST", "WIDE"]
