"""What do-files rely on, checked on the written file: no Stata, but what Stata would do."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import dprct
from dprct.missing import missing_numbers, tagged
from dprct.schema import Column, FileFacts, Schema, Unit

if TYPE_CHECKING:
    from pathlib import Path

HOUSEHOLDS, WAVES = 240, 3
EPOCH = dt.date(1960, 1, 1)
DAYS = ((dt.date(2019, 1, 1) - EPOCH).days, (dt.date(2020, 12, 31) - EPOCH).days)

HOUSEHOLD_COLUMNS = (
    Column("hhid", "long", "%12.0g", "household"),
    Column("code", "str5", "%9s", "household code"),
    Column("treat", "byte", "%8.0g", "assigned", "arms", role="treatment"),
    Column("q1_size", "byte", "%8.0g", "members"),
    Column("q2_got", "byte", "%8.0g", "came for the result", "yesno"),
    Column("q3_date", "int", "%tdDD/NN/CCYY", "date of the interview"),
    Column("q10_note", "str20", "%20s", "remarks"),
    Column("x_a", "float", "%9.2f", "asset index"),
    Column("x_b", "float", "%9.2f", "asset index, second"),
)
HOUSEHOLD_FACTS: dict[str, Any] = {
    "hhid": {"fate": "key"},
    "code": {"fate": "key"},
    "treat": {"levels": [0, 1, 2], "missing": "never", "fate": "modelled"},
    "q1_size": {"bounds": (1, 12), "bins": [5], "missing": "never", "fate": "modelled"},
    "q2_got": {"levels": [0, 1], "missing": [".a"], "fate": "modelled"},
    "q3_date": {"bounds": DAYS, "bins": 2, "missing": ["."], "fate": "modelled"},
    "q10_note": {"fate": "withheld"},
    "x_a": {"bounds": (-5, 5), "decimals": 2, "missing": "never", "fate": "filler"},
    "x_b": {"fate": "withheld"},
}
LABELS = {
    "yesno": {0: "no", 1: "yes", ".a": "refused"},
    "arms": {0: "control", 1: "cash", 2: "therapy"},
}
PANEL = (
    ("_dta", "iis", "pid"),
    ("_dta", "tis", "wave"),
    ("_dta", "_TSpanel", "pid"),
    ("_dta", "_TStvar", "wave"),
    ("_dta", "_TSdelta", "1.0000000000000X+000"),
)


@dataclass(frozen=True)
class File:
    """An original and its protected file."""

    original: Path
    path: Path

    @property
    def before(self) -> tuple[pd.DataFrame, Schema]:
        return dprct.read_dta(self.original)

    @property
    def after(self) -> tuple[pd.DataFrame, Schema]:
        return dprct.read_dta(self.path)


def households(n: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    ids = np.sort(rng.choice(90_000, n, replace=False)) + 10_000.0
    got = np.where(rng.random(n) < 0.2, tagged(1), rng.integers(0, 2, n).astype(float))
    return pd.DataFrame(
        {
            "hhid": ids,
            "code": np.array([f"{int(i):05d}" for i in ids], dtype=object),
            "treat": rng.integers(0, 3, n).astype(float),
            "q1_size": rng.integers(1, 13, n).astype(float),
            "q2_got": got,
            "q3_date": np.where(rng.random(n) < 0.2, tagged(0), rng.integers(*DAYS, n)),
            "q10_note": np.array(["asks for water"] * n, dtype=object),
            "x_a": np.float64(np.float32(rng.normal(0, 1, n).round(2))),
            "x_b": np.float64(np.float32(rng.normal(0, 1, n).round(2))),
        }
    )


def household_file(folder: Path, name: str, n: int, **facts: Any) -> File:
    file = FileFacts(label="households", sorted_by=("hhid",), value_labels=LABELS)
    schema = Schema(HOUSEHOLD_COLUMNS, file)
    declared = {"unit": Unit("household", "hhid"), **HOUSEHOLD_FACTS, **facts}
    return protected(folder, name, households(n), schema, declared)


def protected(
    folder: Path, name: str, data: pd.DataFrame, schema: Schema, facts: dict[str, Any]
) -> File:
    original, path = folder / f"{name}.dta", folder / f"{name}_protected.dta"
    dprct.write_dta(data, schema, original)
    declared = schema.declare(dataset_id="study", confirm_header=True, **facts)
    dprct.MVHistogram(data, declared).fit(8).write_dta(path)
    return File(original, path)


def panel_file(folder: Path, person: str = "int") -> File:
    """People of some households over waves; some people miss a wave."""
    rng = np.random.default_rng(2)
    people = 200
    rows = [(p, w) for p in range(people) for w in range(1, WAVES + 1) if w == 1 or p % 5]
    pid = np.array([p for p, _ in rows])
    numbers = np.sort(rng.choice(32_000, people, replace=False))[pid].astype(float)
    text = np.array([f"{int(i):05d}" for i in numbers], dtype=object)
    data = pd.DataFrame(
        {
            "pid": text if person.startswith("str") else numbers,
            "wave": np.array([float(w) for _, w in rows]),
            "works": rng.integers(0, 2, len(rows)).astype(float),
        }
    )
    columns = (
        Column("pid", person, "%9s" if person.startswith("str") else "%9.0g", "person"),
        Column("wave", "byte", "%8.0g", "round"),
        Column("works", "byte", "%8.0g", "works", "yesno"),
    )
    file = FileFacts(sorted_by=("pid", "wave"), value_labels=LABELS, characteristics=PANEL)
    facts = {
        "unit": Unit("person", "pid", max_rows=WAVES),
        "pid": {"fate": "key"},
        "wave": {"fate": "public"},
        "works": {"levels": [0, 1], "missing": "never", "fate": "modelled"},
    }
    return protected(folder, "panel", data, Schema(columns, file), facts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("study")


@pytest.fixture(scope="module")
def home(folder: Path) -> File:
    return household_file(folder, "households", HOUSEHOLDS)


@pytest.fixture(scope="module")
def panel(folder: Path) -> File:
    return panel_file(folder)


def isid(data: pd.DataFrame, *names: str) -> bool:
    """Stata's isid: no missing value, no combination twice."""
    whole = not any((data[name] == "").any() or data[name].isna().any() for name in names)
    return whole and not data.duplicated(list(names)).any()


def resolved(names: list[str], varlist: str) -> list[str]:
    """Stata's varlist: names, ranges in the order of the file, wildcards."""
    found: list[str] = []
    for part in varlist.split():
        first, dash, last = part.partition("-")
        if dash:
            found += names[names.index(first) : names.index(last) + 1]
        else:
            found += [name for name in names if fnmatchcase(name, part)]
    return found


def in_order(data: pd.DataFrame, schema: Schema) -> bool:
    """Whether the rows are as the sort flag of the file says; numbers only, none missing."""
    keys = [data[name].to_numpy() for name in schema.file.sorted_by]
    return bool((np.lexsort(keys[::-1]) == np.arange(len(data))).all())


def test_nothing_but_what_the_certificate_permits_differs(home: File, panel: File) -> None:
    assert dprct.compare(home.original, home.path).unexpected == ()
    assert dprct.compare(panel.original, panel.path).unexpected == ()


def test_isid(home: File, panel: File) -> None:
    for file, keys in ((home, ["hhid"]), (home, ["code"]), (panel, ["pid", "wave"])):
        assert isid(file.before[0], *keys)
        assert isid(file.after[0], *keys)
    assert not isid(panel.after[0], "pid")


def test_the_ids_are_gone(home: File, panel: File) -> None:
    for file, key in ((home, "hhid"), (home, "code"), (panel, "pid")):
        before, after = file.before[0][key], file.after[0][key]
        count = before.nunique()
        assert sorted(int(one) for one in after.unique()) == list(range(1, count + 1))


@pytest.mark.parametrize("which", ["home", "panel"])
def test_by_needs_no_sort(which: str, request: pytest.FixtureRequest) -> None:
    file = request.getfixturevalue(which)
    (before, old), (after, new) = file.before, file.after
    assert new.file.sorted_by == old.file.sorted_by != ()
    assert in_order(before, old)
    assert in_order(after, new)
    shuffled = after.sample(frac=1, random_state=1, ignore_index=True)
    assert not in_order(shuffled, new)


@pytest.mark.parametrize("person", ["int", "long", "double"])
def test_xtset_holds(person: str, tmp_path: Path) -> None:
    file = panel_file(tmp_path, person)
    (before, old), (after, new) = file.before, file.after
    kept = set(new.file.characteristics)
    assert {entry for entry in old.file.characteristics if entry[1] != "note0"} <= kept
    settings = {name: text for owner, name, text in kept if owner == "_dta"}
    unit, time = settings["_TSpanel"], settings["_TStvar"]
    assert not new.column(unit).is_text
    assert isid(after, unit, time)
    assert (after[time] == after[time].round()).all()
    # L.works exists for as many rows: the pattern of the panel is that of the original
    patterns = [
        sorted(tuple(rows) for rows in data.groupby(unit)[time].apply(list))
        for data in (before, after)
    ]
    assert patterns[0] == patterns[1]


def test_a_panel_of_text_ids_can_be_encoded(tmp_path: Path) -> None:
    after, schema = panel_file(tmp_path, "str5").after
    assert schema.column("pid").type == "str5"
    groups = after.groupby("pid", sort=True).ngroup() + 1  # egen id = group(pid)
    assert isid(after.assign(id=groups), "id", "wave")
    assert after["pid"].str.len().eq(5).all()


@pytest.mark.parametrize(
    "varlist",
    ["treat-q3_date", "q*", "q?_*", "x_*", "hhid treat-q2_got x_?", "*", "hhid-x_b", "*_a *_b"],
)
def test_ranges_and_wildcards_find_the_same_variables(varlist: str, home: File) -> None:
    frames = (home.before[0], home.after[0])
    before, after = (resolved(list(data.columns), varlist) for data in frames)
    assert before == after != []
    by_pandas = resolved(list(pd.read_stata(home.path, convert_categoricals=False)), varlist)
    assert by_pandas == before


def test_a_dropped_column_leaves_every_range_but_for_itself(tmp_path: Path) -> None:
    file = household_file(tmp_path, "h", 200, q10_note={"fate": "drop"})
    before, after = list(file.before[0].columns), list(file.after[0].columns)
    for varlist in ("treat-x_a", "q*", "*"):
        wanted = [name for name in resolved(before, varlist) if name != "q10_note"]
        assert resolved(after, varlist) == wanted


def test_types_formats_and_labels_are_those_of_the_original(home: File, panel: File) -> None:
    for file in (home, panel):
        old, new = file.before[1], file.after[1]
        for name in old.names:
            facts = [
                (c.type, c.format, c.label, c.value_label)
                for c in (old.column(name), new.column(name))
            ]
            assert facts[0] == facts[1]


def test_numeric_codes_and_labels_choose_the_same_rows(home: File) -> None:
    data, schema = home.after
    raw = pd.read_stata(home.path, convert_categoricals=False, convert_missing=False)
    words = pd.read_stata(home.path, convert_categoricals=True)
    assert schema.labels_of("q2_got") == LABELS["yesno"]
    for code, label in ((0, "no"), (1, "yes")):
        by_code = data["q2_got"] == code
        assert by_code.sum() > 0
        assert (by_code == (raw["q2_got"] == code)).all()
        assert (by_code == (words["q2_got"] == label)).all()  # if q2_got=="yes":yesno
    arms = {LABELS["arms"][int(code)] for code in data["treat"].unique()}  # type: ignore[index]
    assert arms == set(LABELS["arms"].values())


def test_missing_codes_are_told_apart(home: File) -> None:
    data, _ = home.after
    got, date = (missing_numbers(data[name].to_numpy()) for name in ("q2_got", "q3_date"))
    assert set(got) == {-1, 1}  # if q2_got == .a
    assert set(date) == {-1, 0}
    assert (data["q10_note"] == "").all()
    assert (missing_numbers(data["x_b"].to_numpy()) == 0).all()  # withheld: system missing
    independent, _ = pyreadstat.read_dta(home.path, user_missing=True)
    marked = independent["q2_got"].map(lambda value: value == "a")
    assert (marked.to_numpy() == (got == 1)).all()


def test_dates_are_dates_within_the_study(home: File) -> None:
    data = pd.read_stata(home.path, convert_categoricals=False)
    dates = data["q3_date"].dropna()
    assert len(dates) > 0
    assert dates.min() >= pd.Timestamp("2019-01-01")
    assert dates.max() <= pd.Timestamp("2020-12-31")
    assert home.after[1].column("q3_date").format == "%tdDD/NN/CCYY"


def merged(one: Path, two: Path, key: str) -> pd.DataFrame:
    left, right = (pd.read_stata(p, convert_categoricals=False) for p in (one, two))
    return left.merge(right, on=key, how="outer", indicator="_merge", suffixes=("", "_using"))


@pytest.mark.parametrize("key", ["hhid", "code"])
@pytest.mark.parametrize("rows", [90, HOUSEHOLDS, 400])
def test_merge_one_to_one_matches_the_smaller_file(
    key: str, rows: int, home: File, tmp_path: Path
) -> None:
    other = household_file(tmp_path, "second", rows)
    found = merged(home.path, other.path, key)["_merge"].value_counts()
    assert found["both"] == min(HOUSEHOLDS, rows)
    assert found["left_only"] == max(HOUSEHOLDS - rows, 0)
    assert found["right_only"] == max(rows - HOUSEHOLDS, 0)
    types = {file.after[1].column(key).type for file in (home, other)}
    assert len(types) == 1


def test_merge_many_to_one_matches_every_member(home: File, tmp_path: Path) -> None:
    """A roster whose unit is the household: every member finds a household."""
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 4, 150)
    ids = np.repeat(households(150, 4)["hhid"].to_numpy(), sizes)
    data = pd.DataFrame({"hhid": ids, "female": rng.integers(0, 2, len(ids)).astype(float)})
    columns = (HOUSEHOLD_COLUMNS[0], Column("female", "byte"))
    facts = {
        "unit": Unit("household", "hhid", max_rows=3),
        "hhid": {"fate": "key"},
        "female": {"levels": [0, 1], "missing": "never", "fate": "modelled"},
    }
    schema = Schema(columns, FileFacts(sorted_by=("hhid",)))
    roster = protected(tmp_path, "roster", data, schema, facts)
    found = merged(roster.path, home.path, "hhid")
    assert (found["_merge"] == "both").sum() == len(data)
    members = found[found["_merge"] == "both"].groupby("hhid").size()
    assert sorted(members) == sorted(sizes)


def test_what_was_merged_relates_nothing(tmp_path: Path) -> None:
    """The same people in two files: a merge by fresh keys pairs them no better than chance."""
    files = [household_file(tmp_path, name, 2_000) for name in ("one", "two")]
    assert files[0].before[0].equals(files[1].before[0])
    found = merged(files[0].path, files[1].path, "hhid")
    assert len(found) == 2_000
    same = (found["treat"] == found["treat_using"]).mean()
    assert abs(same - 1 / 3) < 6.2 * (2 / 9 / 2_000) ** 0.5 + 0.02  # the arms are near a third
    text = (tmp_path / "one_protected.certificate.txt").read_text("utf-8")
    assert "are not the same people" in " ".join(text.split())


def test_a_wrong_file_would_be_seen(home: File) -> None:
    """These checks can fail: a file sorted by nothing, with an id twice, fails them."""
    data, schema = home.after
    broken = pd.concat([data, data.iloc[:1]], ignore_index=True)
    assert not isid(broken, "hhid")
    assert not in_order(broken, schema)
    assert resolved(list(data.columns[::-1]), "*") != resolved(list(data.columns), "*")
