"""Every public callable, given something senseless in the place of each argument in turn.

It is refused in a sentence of ours or it works: no bare exception, nothing that hangs, and nothing
of Python where the sentence is said in R or in the words of a study file.  Which callables there
are is asked of the package, so that a new name is tried, too: one for which no good call stands in
``calls`` fails the first test.
"""

from __future__ import annotations

import inspect
import random
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import dprct
from dprct.errors import DprctError
from dprct.results.tables import Column, Estimate, Row
from tests.contract.languages import python_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BAD: dict[str, Any] = {
    "None": None,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "minus one": -1,
    "a huge integer": 10**5000,
    "true": True,
    "empty text": "",
    "NUL": "\0",
    "a lone surrogate": "a\ud800",
    "long text": "x" * 5000,
    "bytes": b"x",
    "a dict": {},
    "a dict of a number": {1: 2},
    "a list of nothing": [None],
    "an empty list": [],
    "a class": int,
    "an object": object(),
    "another frame": pd.DataFrame({"other": [1.0]}),
    "an array": np.zeros((2, 2)),
}
"""Values by what they are."""

LONGEST = 2_000
"""Most characters of a message: long values are cut in it."""

INSIDE = {
    "broken", "broken_by", "common", "declare", "describe", "draw", "propensities",
    "note_opening", "of", "openings", "results",
}  # fmt: skip
"""Methods by which the house asks a design; a user calls assign, check and probabilities."""


@dataclass(frozen=True)
class Call:
    """A call that works."""

    function: Callable[..., Any]
    arguments: dict[str, Any]

    def __call__(self, **changed: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.function(**self.arguments | changed)


def calls(folder: Path) -> dict[str, Call]:
    """Return a good call of every public callable, and of every method of what it makes."""
    data = pd.DataFrame(
        {
            "y": np.linspace(-9, 9, 40), "w": np.linspace(0, 5, 40) % 1.7,
            "t": np.tile([0.0, 1.0], 20), "block": np.repeat([1.0, 2.0], 20),
        }
    )  # fmt: skip
    schema = dprct.Schema(tuple(dprct.Column(n, confirmed=True) for n in data)).declare(
        dataset_id="trial",
        y={"bounds": (-10, 10), "bins": 4, "missing": "never"},
        w={"bounds": (0, 5), "bins": 4, "missing": "never"},
        t={"levels": [0, 1], "missing": "never"},
        block={"levels": [1, 2], "missing": "never"},
    )
    fates = schema.declare(
        y={"fate": "modelled"}, w={"fate": "modelled"}, t={"fate": "public"}
    ).declare_rest("withheld")
    cells = schema.declare(
        y={"fate": "modelled"}, t={"fate": "modelled"}, block={"fate": "modelled"}
    ).declare_rest("withheld")
    units, times = (x.ravel() for x in np.meshgrid(np.arange(6.0), np.arange(12.0)))
    panel = pd.DataFrame({"who": units, "time": times, "y": (units * times / 50) % 1})
    panel_schema = dprct.Schema(tuple(dprct.Column(n, confirmed=True) for n in panel)).declare(
        who={"levels": list(range(6)), "missing": "never"},
        time={"bounds": (0, 11), "missing": "never"}, y={"bounds": (0, 1), "missing": "never"},
    )  # fmt: skip
    guarantee = dprct.Guarantee.of(dprct.Budget(1), "replace-one", unit="row")
    file = folder / "good.dta"
    dprct.write_dta(data, schema, file)
    schema.save(folder / "good.toml")
    dprct.write_dta(data, schema, folder / "other.dta")
    both: dict[str, Any] = {"data": data, "schema": schema}
    found: dict[str, Call] = {}

    def add(name: str, function: Callable[..., Any], /, **arguments: Any) -> Any:
        found[name] = Call(function, arguments)
        return found[name]

    def methods(owner: str, one: Any, **known: dict[str, Any]) -> None:
        for name in public_methods(type(one)):
            if name in known:
                add(f"{owner}.{name}", getattr(one, name), **known[name])

    def model(name: str, /, **arguments: Any) -> None:
        made = add(name, getattr(dprct, name), **arguments)()
        cost = {"epsilon": 4.0, "delta": 0}
        methods(
            name, made, plan=cost, fit=cost | {"confirm": True, "accountant": None, "rng": 1},
            guarantee={"budget": dprct.Budget(1)}, power={"epsilon": 4.0},
            rehearse={"path": folder / "rehearsed.dta"},
        )  # fmt: skip

    account = add("Accountant", dprct.Accountant, epsilon=10**9, delta=0, unit="row")()
    cost = {"cost": dprct.Budget(1), "relation": "replace-one", "unit": "row"}
    entry = account.charge(**cost, method="m")
    saved = folder / "good.ledger.json"
    account.save(saved, dataset_id="trial")
    methods(
        "Accountant", account, charge=cost | {"method": "m", "description": ""},
        rehearse=cost, entry={"entry_id": entry.id}, is_saved={"entry_id": entry.id},
        check_writable={}, declare_separate={"why": "another question"},
        note_content={"sha256": "a" * 64}, note_unprotected={"method": "m", "reason": "r"},
        record={"entry_id": entry.id, "state": {}}, save={"path": folder / "b.ledger.json"},
        to_dict={}, load={"path": saved, "dataset_id": "trial", "timeout": 1.0},
        open={"path": saved, "dataset_id": "trial", "epsilon": 10**9},
    )  # fmt: skip
    state = dprct.Accountant(1, unit="row")
    kept = state.charge(**cost, method="m").id
    state.record(kept, {})
    add("Accountant.recover", state.recover, entry_id=kept)
    design = add("Simple", dprct.Simple, arms="t", shares=None, control_share=None, arm=None)()
    add("Complete", dprct.Complete, arms="t", shares=None, control_share=None, arm=None)
    add("Block", dprct.Block, arms="t", block="block", shares=None, arm=None)
    add("Cluster", dprct.Cluster, arms="t", cluster="block")
    add("BlockCluster", dprct.BlockCluster, arms="t", block="w", cluster="block")
    add("Factorial", dprct.Factorial, factors=[design, dprct.Simple("w")], arms=None, arm=None)
    add(
        "Custom", dprct.Custom, procedure=lambda frame, rng: np.arange(len(frame)) % 2, columns="t",
        levels=None, control=True, uses=(), shares=None,
    )  # fmt: skip
    frames = {"frame": data}
    for name in ("Simple", "Complete", "Block", "Cluster", "BlockCluster", "Factorial", "Custom"):
        made = found[name]()
        methods(name, made, assign={**frames, "rng": 1}, check={"data": data, "attrition": False})
        if name != "Custom":
            methods(name, made, probabilities=frames)
    budget = add("Budget", dprct.Budget, epsilon=1, delta=0)()
    methods(
        "Budget", budget, asked={"epsilon": 1, "delta": 0}, fits={"total": budget},
        split={"shares": [1, 1]},
    )  # fmt: skip
    add("Guarantee", dprct.Guarantee, measure="none", reason="because")
    methods(
        "Guarantee", guarantee, unverified_because={"reason": "because"},
        as_simulation={}, from_dict={"facts": guarantee.to_dict()},
        none={"reason": "because", "not_covered": ()}, sentence={}, to_dict={},
        of={"budget": budget, "relation": "replace-one"},
    )  # fmt: skip
    column = {name: p.default for name, p in parameters(dprct.Column).items() if name != "name"}
    add("Column", dprct.Column, name="y", **column)
    add("Unit", dprct.Unit, name="person", id=None, max_rows=1)
    add(
        "Regression", dprct.Regression, formula="y ~ t", where=None, weights=None, cluster=None,
        name=None, family=None,
    )  # fmt: skip
    add("Schema", dprct.Schema, columns=schema.columns, dataset_id=None, opened=False)
    methods(
        "Schema", schema, as_opened={}, column={"name": "y"}, labels_of={"name": "y"},
        declare={"dataset_id": None, "unit": None, "confirm_header": False, "y": (0, 1)},
        declare_rest={"fate": "withheld"}, decode={"data": data}, digest={},
        from_dta={"path": file}, from_frame={"frame": data}, load={"path": folder / "good.toml"},
        save={"path": folder / "b.toml"}, seal={"by": ""}, seal_beside_data={},
        select={"names": ["y"]}, unsealed={}, validate={"data": data},
        with_columns={"columns": [dprct.Column("y")]},
    )  # fmt: skip
    add("read", dprct.read, path=file)
    add("read_dta", dprct.read_dta, path=file, schema=None, columns=None, rows=None)
    add("write_dta", dprct.write_dta, **both, path=folder / "c.dta", version=None)
    add("compare", dprct.compare, a=file, b=folder / "other.dta", certificate=None)
    ols = add(
        "ols", dprct.ols, formula="y ~ t", **both, cov_type="HC1", cluster=None, weights=None,
        weights_type="aweight", absorb=(), fe_df="areg", guarantee=None,
    )()  # fmt: skip
    add(
        "iv", dprct.iv, formula="y ~ [w ~ t]", **both, cov_type="HC1", cluster=None, weights=None,
        weights_type="aweight", absorb=(), fe_df="areg", guarantee=None,
    )  # fmt: skip
    for name in ("logit", "probit"):
        add(
            name, getattr(dprct, name), formula="t ~ y", **both, cov_type="nonrobust", cluster=None,
            guarantee=None,
        )  # fmt: skip
    add(
        "balance_table", dprct.balance_table, **both, columns=["y"], treatment="t", blocks=(),
        cluster=None, cov_type="HC1", guarantee=None,
    )  # fmt: skip
    given = parameters(dprct.itt_table)
    optional = {n: p.default for n, p in given.items() if p.default is not inspect.Parameter.empty}
    itt = {**optional, **both, "outcomes": ["y"], "arms": ["t"], "draws": 10, "rng": 1}
    add("itt_table", dprct.itt_table, **itt)
    etable = {n: p.default for n, p in parameters(dprct.etable).items() if n != "models"}
    add("etable", dprct.etable, models=[ols], **etable)
    table = add(
        "Table", dprct.Table, columns=(), rows=(Row("r", ()),), title="", corner="", notes=()
    )()
    methods(
        "Table", table, displayed={}, grid={}, summary={}, styled={},
        to_csv={"path": None}, to_frame={}, to_html={},
        to_latex={}, to_text={}, with_row={"name": "r", "at": None},
    )  # fmt: skip
    drawn = dprct.Table(columns=(Column("a", "A"),), rows=(Row("t", "T", (Estimate(0.5, 0.1),)),))
    add("Table.plot", drawn.plot, alpha=0.05, keep=None, ax=Figure().subplots())
    model(
        "PrivateATE", **both, outcome="y", treatment="t", assignment=None, control=None,
        budget_shares=None, subgroups=(), effects="arms", blocks="weight", privacy_unit="person",
        index=None, index_columns=(), index_bounds=None, alphas=(0.05,), attrition=False,
        neighbors="replace-one-design-public",
    )  # fmt: skip
    model(
        "Calibrated", data=data, schema=fates, outcome="y", treatment="t", covariates=("w",),
        assignment=None, covariate_release="histogram", specifications=(), budget_shares=None,
        alphas=(0.05,), legal="calibrated", gamma="zero",
        control=None, blocks="weight", privacy_unit="person", index=None, index_columns=(),
        index_bounds=None, subgroups=(), attrition=False, keep=(),
    )  # fmt: skip
    model("MVHistogram", data=data, schema=cells, columns=None, zeta=None, keep=())
    model("Marginals", data=data, schema=cells, columns=None, default_bins=None, keep=())
    model(
        "IPW", **both, treatment="t", covariates=["w"], outcome="y", estimand="ate",
        neighbors="replace-one", noise="laplace", lam=None, trim=None, split=None,
        budget_shares=None, hajek=None, treated=None, balance=(), overlap=False,
        errors="total", alphas=(0.05,),
    )  # fmt: skip
    additive = {
        "outcome": "y", "features": ["w"], "clip": None, "bins": 4, "categorical": (), "pairs": (),
        "subgroups": (), "projection": (), "neighbors": "replace-one",
    }  # fmt: skip
    model("PrivateAdditive", **both, **additive)
    model("CATE", **both, **additive, treatment="t", propensity=0.5, learner="dr", trim=0.1)
    model(
        "SyntheticControl", data=panel, schema=panel_schema, outcome="y", treated=0, unit="who",
        time="time", treatment_time=8, donors=None, donor_weights="ridge", lam=None, bound=None,
        protect_treated=False, mean_effect=False, pre_fit=False, placebos=(),
        predictors=None, budget_shares=None, noise="laplace", neighbors="replace-one",
    )  # fmt: skip
    model(
        "PrivateMoments", **both, columns=["y", "w"], formulas=(), assignment=None, control=None,
        subgroups=(), radius=None, attrition=False,
        clipped=None, weights=None, neighbors="replace-one",
    )  # fmt: skip
    add("PrivateATE.from_formula", dprct.PrivateATE.from_formula, formula="y ~ t", **both)
    release = found["MVHistogram.fit"](rng=None)
    release.write_dta(folder / "protected.dta")
    methods("Release", release, certificate={}, summary={}, write_dta={"path": folder / "d.dta"})
    add("verify", dprct.verify, path=folder / "protected.dta", certificate=None, ledger=None)
    return found


def parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


def public_methods(one: type) -> Iterator[str]:
    for name in dir(one):
        if not name.startswith("_") and callable(getattr(one, name)):
            yield name


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Call]:
    return calls(tmp_path_factory.mktemp("good"))


# built by the package; a user who builds one is on their own
UNTRIED = {"Moments", "Release"}
# the same code for every model, tried on one of them; what needs a ledger with a charge of theirs
SHARED = {"specification", "from_formula", "from_formulas", "resume", "from_arrays"}


def test_every_public_callable_has_a_good_call(good: dict[str, Call]) -> None:
    names = {n for n in dprct.__all__ if callable(getattr(dprct, n))} - UNTRIED
    wanted = set(names)
    for name in names:
        one = getattr(dprct, name)
        if inspect.isclass(one):
            wanted |= {f"{name}.{m}" for m in public_methods(one) if m not in INSIDE | SHARED}
    wanted -= {"Custom.probabilities", "Schema.describe"}  # a procedure says none
    wanted |= {"Schema.declare"}
    assert wanted <= set(good), sorted(wanted - set(good))


def tried(
    name: str, call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> Iterator[str]:
    """Yield what went wrong, argument by argument, for some values, the same in each run."""
    monkeypatch.chdir(folder)
    for argument in call.arguments:
        some = random.Random(f"{name} {argument}").sample(sorted(BAD), most)
        for what, value in ((what, BAD[what]) for what in some):
            try:
                call(**{argument: value})
            except DprctError as error:
                if len(str(error)) > LONGEST:
                    yield f"{name}({argument}={what}): {len(str(error))} characters"
                try:
                    str(error).encode("utf-8")
                except UnicodeEncodeError:
                    yield f"{name}({argument}={what}): a message that cannot be written"
                for left in python_in(error):
                    yield f"{name}({argument}={what}): {left}"
            except Exception as error:
                yield f"{name}({argument}={what}): {type(error).__name__}: {str(error)[:60]!r}"


NAMES = sorted(n for n in dprct.__all__ if callable(getattr(dprct, n)))
QUICK = 2
"""Senseless values of each argument in the tests; ``make check-all`` gives all of them."""


@pytest.mark.parametrize("owner", NAMES)
@pytest.mark.parametrize(
    "most", [QUICK, pytest.param(len(BAD), marks=pytest.mark.torture)], ids=["some", "all"]
)
def test_a_senseless_argument_is_refused_in_a_sentence_or_works(
    owner: str, most: int, good: dict[str, Call], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = [
        fault
        for name, call in good.items()
        if name.split(".")[0] == owner
        for fault in tried(name, call, tmp_path, monkeypatch, most)
    ]
    assert not faults, f"{len(faults)} faults:\n" + "\n".join(faults)
