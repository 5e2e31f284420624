"""What treatment moves is no covariate and no subgroup, by what is declared of columns."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct import CATE, IPW, Calibrated, Column, PrivateATE, PrivateMoments, Schema, published
from dprct.assignment import Complete
from dprct.errors import ColumnError, SchemaError
from dprct.io.stata import write_dta
from dprct.schema.schema import check_fixed_before
from dprct.study.headers import read_header
from dprct.study.study import load_study

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FACTS: dict[str, Any] = {
    "y": {"bounds": (0, 10), "missing": "never", "sd": 3},
    "t": {"levels": [0, 1], "missing": "never", "fate": "public"},
    "x": {"levels": [0, 1], "missing": "never", "fate": "modelled"},
    "tx": {"levels": [0, 1], "missing": "never"},
}
MOVED: list[dict[str, Any]] = [
    {"derived": "t * x"},
    {"made_of": ["t", "x"]},
    {"made_of": "t"},
    {"made_of": "between"},  # which is derived from t
]


def rows(n: int = 40) -> pd.DataFrame:
    t, x = np.arange(n) % 2.0, np.arange(n) // 2 % 2.0
    return pd.DataFrame({"y": np.arange(n) % 10.0, "t": t, "x": x, "tx": t * x, "between": t})


def schema_of(**tx: Any) -> Schema:
    """Schema in which ``tx`` has these facts, too."""
    facts = {**FACTS, "tx": {**FACTS["tx"], "fate": None, **tx}, "between": {"derived": "2 * t"}}
    facts["tx"] = {key: value for key, value in facts["tx"].items() if value is not None}
    return Schema.from_frame(rows()).declare(**facts)


def asked(frame: pd.DataFrame, schema: Schema) -> dict[str, Callable[[], Any]]:
    """Fits of every method with covariates or subgroups, by name."""
    arms = {"treatment": "t", "assignment": Complete("t", shares=0.5)}
    y = {"outcome": "y", **arms}
    file = {"covariate_release": "filler"}
    index = {"index": lambda r: r["tx"], "index_bounds": (0, 1), "index_columns": ["tx"]}
    return {
        "PrivateATE, subgroups": lambda: PrivateATE(frame, schema, **y, subgroups=["tx"]),
        "PrivateATE, index": lambda: PrivateATE(frame, schema, **y, **index),
        "CATE, features": lambda: CATE(frame, schema, **y, features=["tx"]),
        "CATE, subgroups": lambda: CATE(frame, schema, **y, features=["x"], subgroups=["tx"]),
        "IPW": lambda: IPW(frame, schema, treatment="t", covariates=["x", "tx"], outcome="y"),
        "Calibrated": lambda: Calibrated(frame, schema, **y, **file, covariates=["tx"]),
        "Calibrated, specifications": lambda: Calibrated(
            frame, schema, **y, **file, specifications=["tx + x"]
        ),
        "published.IPW": lambda: published.IPW(frame, schema, formula="t ~ x + tx", outcome="y"),
        "published.CATE": lambda: published.CATE(
            frame, schema, **y, features=["tx"], accept_uncertified=True
        ),
        "published.Hybrid": lambda: published.Hybrid(frame, schema, formula="y ~ t + tx", **arms),
    }


@pytest.mark.parametrize("moved", MOVED, ids=str)
@pytest.mark.parametrize("method", list(asked(rows(), Schema(()))))
def test_no_method_takes_what_treatment_moves(method: str, moved: dict[str, Any]) -> None:
    if method == "published.CATE":
        pytest.importorskip("interpret")
    with pytest.raises(SchemaError, match=r"'tx' is made of '(t|between)'.*fixed before"):
        asked(rows(), schema_of(**moved))[method]()


def test_dummies_of_other_arms_are_no_covariates() -> None:
    schema = schema_of(exclusive="arm").declare(t={"exclusive": "arm"})
    with pytest.raises(SchemaError, match="exclusive='arm', as an arm is"):
        check_fixed_before(schema, ["tx"], ["t"])


def test_what_an_arm_is_made_of_is_no_covariate() -> None:
    schema = schema_of().declare(t={"made_of": "x"})
    with pytest.raises(SchemaError, match="'x' is what an arm is made of"):
        check_fixed_before(schema, ["x"], ["t"])
    check_fixed_before(schema, ["t"], ["t"])
    with pytest.raises(ColumnError, match="nothing"):
        check_fixed_before(schema, ["nothing"], ["t"])


def test_moments_serve_regressions_with_interactions() -> None:
    model = PrivateMoments(rows(), schema_of(made_of="t"), formulas=["y ~ t + tx"])
    assert model.plan(1, 1e-6)


def test_a_schema_refuses_the_role_of_a_covariate() -> None:
    roles = {"t": {"role": "treatment"}, "tx": {"role": "covariate"}}
    with pytest.raises(SchemaError, match="'tx' is made of 't'"):
        schema_of(made_of="t").declare(**roles)
    assert schema_of(made_of="x").declare(**roles).column("tx").role == "covariate"


def test_what_a_column_is_made_of_exists_and_is_another() -> None:
    for wrong, error in (("tt", ColumnError), ("tx", SchemaError), ([], SchemaError)):
        with pytest.raises(error):
            schema_of(made_of=wrong)
    assert Column("x", made_of="t").made_of == ("t",)  # type: ignore[arg-type]


def test_what_is_made_of_a_cohorts_column_is_a_cohorts() -> None:
    schema = schema_of(made_of="x").declare(x={"built_from": "cohort"})
    assert schema.column("tx").built_from == "cohort"


def test_a_schema_keeps_what_a_column_is_made_of(tmp_path: Path) -> None:
    schema = schema_of(made_of=["t", "x"])
    schema.save(tmp_path / "schema.toml")
    assert Schema.load(tmp_path / "schema.toml").column("tx").made_of == ("t", "x")
    assert schema.digest() != schema_of().digest()


STUDY = """\
version = 1
data = "trial.dta"
dataset_id = "trial"
[study]
rest = "withheld"
[release]
method = "calibrated"
epsilon = 4.0
formula = "y ~ t"
[design]
kind = "complete"
arms = ["t"]
shares = 0.5
[calibrated]
covariate_release = "filler"
specifications = ["", "tx + x"]
[header]
confirm = true
[columns]
y = {fate = "modelled", bounds = [0, 10], missing = "never", sd = 3.0}
t = {fate = "public", levels = [0, 1], missing = "never"}
x = {fate = "modelled", levels = [0, 1], missing = "never"}
tx = {fate = "modelled", levels = [0, 1], missing = "never"}
"""


@pytest.mark.parametrize(
    ("tx", "words"),
    [
        ("", []),
        (', derived = "t * x"', ["made of 't'", 'method = "moments"']),
        (', made_of = ["t"]', ["made of 't'", 'method = "moments"']),
        (', made_of = ["tt"]', ["no column 'tt'"]),
        (', made_of = "t", role = "covariate"', ["made of 't'"]),
    ],
)
def test_a_study_file_says_so(tx: str, words: list[str], tmp_path: Path) -> None:
    write_dta(rows(), Schema.from_frame(rows()), tmp_path / "trial.dta")
    text = STUDY.removesuffix("}\n") + f"{tx}}}\n"
    if "role" in tx:
        text = text.replace("t = {fate", 't = {role = "treatment", fate').replace('tx + x"', 'x"')
    assert tomllib.loads(text)
    (tmp_path / "study.toml").write_text(text)
    study = load_study(tmp_path / "study.toml")
    found = study.problems(read_header(study))
    assert len(found) == bool(words)
    assert all(word in "".join(found) for word in words)
