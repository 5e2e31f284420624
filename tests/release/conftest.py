"""A small confidential file in which every fate, type and kind of fact occurs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.missing import tagged
from dprct.schema import Column, FileFacts, Schema, Unit

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET_NUMBER = 417.23046875  # exact in a float, nowhere else in the package
SECRET_TEXT = "Aurelia-Quint"

COLUMNS = (
    Column("village", "int", "%8.0g", "village", confirmed=True),
    Column("hhid", "long", "%12.0g", "household id", confirmed=True),
    Column("name", "str13", "%13s", "name", confirmed=True),
    Column("got", "byte", "%8.0g", "got result", "yesno", confirmed=True),
    Column("arm", "byte", "%8.0g", "treated", "yesno", confirmed=True),
    Column("age", "int", "%8.0g", "age in years", confirmed=True),
    Column("region", "str3", "%9s", "region", confirmed=True),
    Column("income", "float", "%9.2f", "income", confirmed=True),
    Column("diary", "strL", "%9s", "diary", confirmed=True),
    Column("both", "byte", "%8.0g", "got and arm", confirmed=True),
    Column("lat", "double", "%10.0g", "latitude", "places", confirmed=True),
    Column("test", "byte", "%8.0g", "test result", "result", confirmed=True),
)
FACTS: dict[str, Any] = {
    "village": {"fate": "public"},
    "hhid": {"fate": "key"},
    "name": {"fate": "key"},
    "got": {"levels": [0, 1], "missing": [".a"], "fate": "modelled", "role": "outcome"},
    "arm": {"levels": [0, 1], "missing": "never", "fate": "modelled", "role": "treatment"},
    "age": {"bounds": (15, 79), "bins": [30, 50], "missing": ["."], "fate": "modelled"},
    "region": {"levels": ["N", "S"], "fate": "modelled"},
    "income": {"bounds": (0, 1000), "decimals": 2, "missing": [".", ".z"], "fate": "filler"},
    "diary": {"fate": "withheld"},
    "both": {"derived": "got * arm", "levels": [0, 1], "missing": "never"},
    "lat": {"fate": "drop"},
    "test": {"levels": [0, 1], "missing": "never", "fate": "withheld"},
}
FILE = FileFacts(
    release=118,
    label="a confidential survey",
    timestamp="21 Nov 2026 07:36",
    sorted_by=("village", "age", "lat", "got"),
    value_labels={
        "yesno": {0: "no", 1: "yes", ".a": "refused"},
        "places": {1: SECRET_TEXT},
        "result": {0: "negative", 1: "positive"},
        "unused": {7: "seven"},
    },
    characteristics=(
        ("_dta", "note0", "2"),
        ("_dta", "note1", "collected by hand"),
        ("_dta", "note2", f"ask {SECRET_TEXT}"),
        ("_dta", "tis", "village"),
        ("_dta", "tissue", SECRET_TEXT),
        ("_dta", "_svy_wvar", "lat"),
        ("_dta", "_svy_version", "2"),
        ("_dta", "_lang_c", "en"),
        ("got", "origin", SECRET_TEXT),
        ("lat", "_lang_l_de", "Breite"),
    ),
)


@pytest.fixture
def schema() -> Schema:
    """Fates of every kind, over a file that has facts of every kind."""
    return Schema(COLUMNS, FILE).declare(
        dataset_id="survey", unit=Unit("household", id="hhid"), **FACTS
    )


@pytest.fixture
def make_data() -> Callable[..., pd.DataFrame]:
    """Return n confidential rows, drawn with a seed; sorted as the file says."""

    def make(n: int = 400, seed: int = 1) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        got = np.where(rng.random(n) < 0.1, tagged(1), rng.integers(0, 2, n).astype(float))
        arm = rng.integers(0, 2, n).astype(float)
        both = np.where(np.isnan(got), 0.0, got * arm)
        data = pd.DataFrame(
            {
                "village": np.sort(rng.integers(1, 9, n)).astype(float),
                "hhid": 9_000_000.0 + rng.permutation(n),
                "name": np.array([f"{SECRET_TEXT}"] * n, dtype=object),
                "got": got,
                "arm": arm,
                "age": np.where(rng.random(n) < 0.05, tagged(0), rng.integers(15, 80, n)),
                "region": rng.choice(np.array(["N", "S"], dtype=object), n),
                "income": np.full(n, SECRET_NUMBER),
                "diary": np.array([f"{SECRET_TEXT} wrote this"] * n, dtype=object),
                "both": both,
                "lat": np.full(n, SECRET_NUMBER),
                "test": rng.integers(0, 2, n).astype(float),
            }
        )
        kinds = {c.name: object if c.is_text else np.float64 for c in COLUMNS}
        keys = [np.isnan(data["age"]), data["age"].fillna(0.0), data["village"]]
        order = np.lexsort([np.asarray(key) for key in keys[1::-1]] + [np.asarray(keys[2])])
        return pd.DataFrame(
            {n: pd.Series(data[n].to_numpy()[order], dtype=kinds[n]) for n in data.columns}
        )

    return make


@pytest.fixture
def data(make_data: Callable[..., pd.DataFrame]) -> pd.DataFrame:
    """400 confidential rows."""
    return make_data()


@pytest.fixture
def secrets() -> tuple[bytes, ...]:
    """Byte patterns of confidential values, as text and as every float that holds them."""
    return (
        SECRET_TEXT.encode(),
        repr(SECRET_NUMBER).encode(),
        np.float64(SECRET_NUMBER).tobytes(),
        np.float32(SECRET_NUMBER).tobytes(),
        np.array(SECRET_NUMBER, ">f8").tobytes(),
    )


TRIAL_COLUMNS = (
    Column("person", "long"),
    Column("village", "int", label="village of the lottery"),
    Column("school", "int"),
    Column("t", "byte", value_label="yesno"),
    Column("t2", "byte", value_label="yesno"),
    Column("age", "byte", "%8.0g", "age in years"),
    Column("female", "byte", value_label="yesno"),
    Column("region", "str5"),
    Column("earn", "float", "%9.2f", "earnings"),
    Column("works", "byte", "%8.0g", "has work", "yesno"),
    Column("old", "byte"),
    Column("diary", "strL"),
)
TRIAL_FACTS: dict[str, Any] = {
    "person": {"fate": "key"},
    "village": {"missing": "never", "fate": "public"},
    "school": {"missing": "never", "fate": "public"},
    "t": {"levels": [0, 1], "missing": "never"},
    "t2": {"levels": [0, 1], "missing": "never"},
    "age": {"bounds": (18, 65), "missing": ["."], "fate": "modelled"},
    "female": {"levels": [0, 1], "missing": "never", "fate": "modelled"},
    "region": {"levels": ["north", "south", "west"], "fate": "modelled"},
    "earn": {"bounds": (0, 100), "missing": "never"},
    "works": {"levels": [0, 1], "missing": ["."]},
    "old": {"derived": "1 * (age > 50)", "levels": [0, 1], "missing": ["."]},
    "diary": {"fate": "withheld"},
}


@pytest.fixture
def trial_schema() -> Schema:
    """An experiment with three arms, two outcomes, and every kind of covariate."""
    labels = FileFacts(value_labels={"yesno": {0: "no", 1: "yes"}})
    return Schema(TRIAL_COLUMNS, labels).declare(dataset_id="trial", **TRIAL_FACTS)


@pytest.fixture
def make_trial() -> Callable[..., pd.DataFrame]:
    """Return n people: thirds in t, t2 and control, 30 villages of whole thirds, 60 schools."""

    def make(n: int = 900, seed: int = 1) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        village = np.arange(n) * 30 // n
        arm = np.concatenate([rng.permutation(np.arange(np.sum(village == v)) % 3)
                              for v in range(30)])  # fmt: skip
        age = rng.integers(18, 66, n).astype(float)
        works = (rng.random(n) < 0.5).astype(float)
        earn = np.clip(rng.normal(40, 10, n) + 6 * (arm == 1) + 3 * (arm == 2), 0, 100)
        earn[0] = SECRET_NUMBER % 100
        return pd.DataFrame(
            {
                "person": 9_000_000.0 + rng.permutation(n),
                "village": village.astype(float),
                "school": (np.arange(n) * 60 // n).astype(float),
                "t": (arm == 1).astype(float),
                "t2": (arm == 2).astype(float),
                "age": np.where(rng.random(n) < 0.05, np.nan, age),
                "female": rng.integers(0, 2, n).astype(float),
                "region": rng.choice(np.array(["north", "south", "west"], dtype=object), n),
                "earn": earn.astype(np.float32).astype(np.float64),
                "works": np.where(rng.random(n) < 0.1, np.nan, works),
                "old": np.where(age > 50, 1.0, 0.0),
                "diary": np.full(n, f"{SECRET_TEXT} wrote this", dtype=object),
            }
        )

    return make


@pytest.fixture
def trial(make_trial: Callable[..., pd.DataFrame]) -> pd.DataFrame:
    """900 people of the experiment."""
    return make_trial()
