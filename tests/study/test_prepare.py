"""Files of public facts that a study merges into its data, and what it does not carry out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.certificate.certificate import Certificate
from dprct.cli import main
from dprct.dofile.memory import Merged
from dprct.errors import DprctError
from dprct.io.stata import write_dta
from dprct.schema import Schema
from dprct.study.approval import approval_of, approval_page
from dprct.study.data_sets import others_beside, planned_verdicts
from dprct.study.declarable import declarable
from dprct.study.do_files import read_do
from dprct.study.headers import header_and_rows, read_header
from dprct.study.offer import offered
from dprct.study.package import check_package, write_package
from dprct.study.prepare import MERGED_BY, merges_in
from dprct.study.ready import bound_model, confidential, open_points, study_of
from dprct.study.verdicts import of_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STUDY = """\
version = 1
data = "rep/people.dta"
dataset_id = "people"
[study]
rest = "withheld"
[[prepare]]
merge = "rep/villages.dta"
on = "village"
[derived]
far = "where(missing(km), 1, km > 10)"
[release]
method = "moments"
epsilon = 50.0
delta = 1e-3
[design]
kind = "cluster"
arms = ["treat"]
cluster = "village"
largest = 8
[moments]
neighbors = "replace-one-design-public"
cov_type = "CR1"
[[regression]]
formula = "y ~ treat + km + road"
cluster = "village"
[[regression]]
formula = "y ~ treat + age"
where = "far == 1"
cluster = "village"
[header]
confirm = true
[package]
folder = "rep"
[columns]
village = {fate = "public", levels = [LEVELS], missing = "never"}
treat = {fate = "public", levels = [0, 1], missing = "never"}
age = {fate = "modelled", bounds = [18, 80], missing = "never"}
y = {fate = "modelled", bounds = [0, 20], sd = 3, missing = "never"}
km = {fate = "public"}
road = {fate = "public"}
town = {fate = "public"}
far = {fate = "public"}
""".replace("LEVELS", ", ".join(map(str, range(1, 51))))
PRIVATE_KEY = ('village = {fate = "public"', 'village = {fate = "modelled"')
DO = """\
use people.dta, clear
gen older = age > 40
merge m:1 village using "villages.dta"
drop if _merge == 2
gen far = km > 10
regress y treat km road, cluster(village)
regress y treat age if far == 1, cluster(village)
"""


def villages() -> pd.DataFrame:
    place = np.arange(52)
    return pd.DataFrame({
        "village": place + 1.0, "km": np.round(0.5 + 0.4 * place, 1),
        "road": (place % 3 == 0) * 1.0, "town": np.where(place % 4 == 0, "Ada", "Bo"),
    })  # fmt: skip


def people() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    village = np.repeat(np.arange(50), 8)
    age, treat = rng.integers(18, 80, 400) * 1.0, village % 2.0
    y = (8 + 2 * treat + 0.05 * age + 2 * rng.normal(size=400)).clip(0, 20)
    return pd.DataFrame({"id": np.arange(400.0), "village": village + 1.0, "treat": treat,
                         "age": age, "y": y})  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "rep").mkdir()
    for name, data in (("people", people()), ("villages", villages())):
        write_dta(data, Schema.from_frame(data), tmp_path / "rep" / f"{name}.dta")
    (tmp_path / "rep" / "main.do").write_text(DO)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def rewritten(home: Path, *pairs: tuple[str, str]) -> Path:
    text = STUDY
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    (home / "study.toml").write_text(text)
    return home / "study.toml"


def test_rows_get_the_values_of_their_key(home: Path) -> None:
    study = study_of(home / "study.toml")
    data, schema = confidential(study)
    expected = people().merge(villages(), on="village", how="left", validate="m:1")
    for name in ("km", "road", "town"):
        assert data[name].tolist() == expected[name].tolist()
        assert name in schema.names
    assert open_points(study) == []
    assert study.of_file(read_header(study)).names == [*people().columns]


def test_facts_are_those_of_the_public_file(home: Path) -> None:
    schema = study_of(home / "study.toml").declared(read_header(study_of(home / "study.toml")))
    assert schema.column("km").bounds == (0.5, 20.9)
    assert schema.column("road").levels == (0.0, 1.0)
    assert schema.column("town").levels == ("Ada", "Bo")
    assert all(schema.column(name).missing == () for name in ("km", "road"))
    declared = rewritten(home, ("km = {", "km = {bounds = [0, 50], "))
    study = study_of(declared)
    assert study.declared(read_header(study)).column("km").bounds == (0.0, 50.0)


def test_a_key_that_is_not_in_the_file_leaves_values_missing(home: Path) -> None:
    few = villages().iloc[:40]
    write_dta(few, Schema.from_frame(few), home / "rep" / "villages.dta")
    study = study_of(home / "study.toml")
    data, _ = confidential(study)
    assert data["km"].isna().sum() == 10 * 8
    assert set(data.loc[data["km"].isna(), "town"]) == {""}
    schema = study.declared(read_header(study))
    assert schema.column("km").missing == (".",)
    assert schema.column("town").levels == ("Ada", "Bo", "")
    assert study.merges(schema)["villages.dta"].complete is False


def test_only_the_replaced_row_has_other_values(home: Path) -> None:
    """Every pair of neighbours of a small table: the rows of others stay, bit for bit."""
    study = study_of(rewritten(home, PRIVATE_KEY))
    data = people().iloc[:12].reset_index(drop=True)
    before = study.with_prepared(data)
    for row in range(len(data)):
        for key in (1.0, 50.0, 99.0):
            other = data.copy()
            other.loc[row, "village"] = key
            after = study.with_prepared(other)
            kept = [place for place in range(len(data)) if place != row]
            pd.testing.assert_frame_equal(before.iloc[kept], after.iloc[kept])


def test_a_public_column_needs_a_public_key(home: Path) -> None:
    private = rewritten(home, PRIVATE_KEY)
    assert any(
        "'km' has fate 'public', and its key 'village'" in x for x in open_points(study_of(private))
    )


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('merge = "rep/villages.dta"\non = "village"', 'joinby = "a.dta"', "repeats rows"),
        ('on = "village"', 'on = "village"\nkind = "1:m"', "repeats rows"),
        ('on = "village"', 'on = "village"\nkind = "m:m"', "repeats rows"),
        ('on = "village"', 'on = "id"\nkind = "1:1"', "a row for each person is confidential"),
        ('on = "village"', 'on = "vilage"', "no column 'vilage'"),
        ('on = "village"', 'on = "road"', "its key repeats"),
        ('on = "village"', 'on = ["village", "village"]', "on names a column twice"),
        ('on = "village"', 'on = "village"\ncolumns = ["km", "km"]', "columns names a col"),
        ('on = "village"', 'on = "village"\ncolumns = ["kms"]', "no column 'kms'"),
        ('"rep/villages.dta"', '"rep/people.dta"', "confidential file"),
        ('"rep/villages.dta"', '"../villages.dta"', "outside the folder"),
        ('"rep/villages.dta"', '"rep/nowhere.dta"', "nowhere.dta"),
    ],
)  # fmt: skip
def test_refusals_name_what_to_do(home: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(DprctError, match=words):
        read_header(study_of(rewritten(home, (old, new))))


def test_files_of_persons_and_of_other_keys_are_refused(home: Path) -> None:
    unit = rewritten(home, ("[study]", '[unit]\nid = "village"\nmax_rows = 8\n[study]'))
    with pytest.raises(DprctError, match="a row for each person is confidential"):
        read_header(study_of(unit))
    (home / "study.toml").write_text(STUDY)
    for change, words in (({"village": "v" + villages()["village"].astype(str)}, "text in one"),
                          ({"age": 1.0}, "the data have 'age' already")):  # fmt: skip
        other = villages().assign(**change)
        write_dta(other, Schema.from_frame(other), home / "rep" / "villages.dta")
        with pytest.raises(DprctError, match=words):
            read_header(study_of(home / "study.toml"))


def test_files_without_rows_and_with_missing_keys_are_refused(home: Path) -> None:
    """A missing key matches another one in Stata, and nothing here."""
    path, all_of_them = home / "rep" / "villages.dta", villages()
    some = all_of_them.assign(village=[np.nan, *all_of_them["village"][1:]])
    write_dta(some, Schema.from_frame(some), path)
    with pytest.raises(DprctError, match="'village' of its key is missing in some row; leave"):
        read_header(study_of(home / "study.toml"))
    write_dta(all_of_them.iloc[:0], Schema.from_frame(all_of_them), path)
    with pytest.raises(DprctError, match="has names but no rows"):
        read_header(study_of(home / "study.toml"))


def rows_of(home: Path, do: str, *, complete: bool = True) -> list[Any]:
    (home / "try.do").write_text(do)
    merges = {"villages.dta": Merged(("village",), ("km", "road"), complete)}
    schema = Schema.from_frame(people())
    return [*read_do(home / "try.do", schema, treatments=["treat"], merges=merges)]


MERGE = "use people\nmerge m:1 village using villages.dta{}\n{}regress y treat km\n"


def test_a_merge_that_the_study_makes_leaves_rows_and_made_columns(tmp_path: Path) -> None:
    for options, then in ((", keep(match) nogenerate", ""), ("", "keep if _merge == 3\n"),
                          ("", "drop if _merge==2\n"), (", keep(1 3)", "")):  # fmt: skip
        (row,) = rows_of(tmp_path, MERGE.format(options, "gen z = km\n" + then))
        assert (row.steps, row.sample, row.sources) == ((), "", ("people.dta",))
        assert row.status == "read"


def test_other_merges_stay_steps(tmp_path: Path) -> None:
    for do in (
        MERGE.format("", "").replace("m:1", "m:m"),
        MERGE.format("", "").replace("m:1 village", "m:1 village treat"),
        "use people\nreplace village = 1 if age > 50\n" + MERGE.format("", "")[11:],
        "use villages\ngen km = 1\nsave villages.dta, replace\n" + MERGE.format("", ""),
    ):
        assert rows_of(tmp_path, do)[0].steps == ("merge",)
    (row,) = rows_of(tmp_path, MERGE.format(", keep(match)", ""), complete=False)
    assert row.sample == "_merge==3"
    (row,) = rows_of(tmp_path, MERGE.format("", "drop if _merge == 2\n"), complete=False)
    assert row.sample == ""


def test_regressions_after_the_merge_are_valid(home: Path) -> None:
    study = study_of(home / "study.toml")
    found = planned_verdicts(study, study.do_files)
    assert [one.kind for one in found] == ["valid", "valid"]


def test_check_prints_json(home: Path, command_line: Callable[..., Any]) -> None:
    run = command_line(main)
    ran = run("check", home / "study.toml", "--json")
    said = json.loads(ran.out)
    assert (ran.code, said["open"]) == (0, [])
    assert [one["verdict"] for one in said["regressions"]] == ["valid", "valid"]
    assert all(one["obstacles"] == [] for one in said["regressions"])
    (home / "more.do").write_text("use people\nprobit y treat if age > 30 [pw=km], robust\n")
    said = json.loads(run("check", home / "study.toml", "--do", home / "more.do", "--json").out)
    (row,) = said["regressions"]
    assert len(row["obstacles"]) == 3
    assert row["obstacles"][0] == {"reason": row["reason"], "remedy": row["remedy"]}
    open_ = rewritten(home, ("bounds = [0, 20], ", ""))
    ran = run("check", open_, "--json")
    assert ran.code == 1
    assert json.loads(ran.out)["open"] != []


def test_the_hash_that_is_approved_moves_with_the_file(home: Path) -> None:
    study = study_of(home / "study.toml")
    model = bound_model(study)
    approval = approval_of(study, model)
    before = approval.sha256
    assert "file merged by the study: villages.dta" in approval_page(approval)
    other = villages().assign(road=1 - villages()["road"])
    write_dta(other, Schema.from_frame(other), home / "rep" / "villages.dta")
    assert approval_of(study, model).sha256 != before


def test_a_draft_names_the_files_that_do_files_merge(
    home: Path, command_line: Callable[..., Any]
) -> None:
    run = command_line(main)
    draft = home / "draft.toml"
    ran = run("describe", home / "rep" / "people.dta", "--draft", draft, "--do",
              home / "rep" / "main.do", "--treatment", "treat")  # fmt: skip
    assert ran.code == 0
    assert '# [[prepare]]\n# merge = "villages.dta"\n# on = "village"\n' in draft.read_text()


@pytest.mark.long
def test_certificate_and_package_hold_the_file(home: Path) -> None:
    study = study_of(home / "study.toml")
    contents = check_package(study)
    offered(study).taken()
    _, package = write_package(study, contents)
    told = json.loads((package / "people.moments.certificate.json").read_text("utf-8"))
    facts = Certificate.from_dict(told).facts
    assert [name for name in facts if name.startswith(MERGED_BY)] == [f"{MERGED_BY}villages.dta"]
    assert merges_in(facts) == {
        "villages.dta": Merged(("village",), ("km", "road", "town"), complete=True)
    }
    assert (package / "villages.dta").read_bytes() == (home / "rep" / "villages.dta").read_bytes()
    assert 'merge = "villages.dta"' in (package / "study.toml").read_text()
    file = package / "people.moments.json"
    verdicts = of_file([package / "main.do"], file, None, others_beside(file))
    assert [one.kind for one in verdicts] == ["valid", "valid"]


@pytest.mark.parametrize("levels", [True, False])
def test_check_says_the_price_of_clustered_regressions(home: Path, *, levels: bool) -> None:
    """Clusters are public: as many as there are levels, or of the largest size."""
    cut = STUDY.index('[[regression]]\nformula = "y ~ treat + km')
    pairs = [(STUDY[cut : STUDY.index('[[regression]]\nformula = "y ~ treat + age"')], "")]
    if not levels:
        pairs.append(
            (", levels = [" + STUDY.partition("levels = [")[2].partition("]")[0] + "]", "")
        )
        pairs.append(('on = "village"', 'on = "village"\ncomplete = true'))
    study = study_of(rewritten(home, *pairs))
    header, rows = header_and_rows(study)
    found = planned_verdicts(study, study.do_files)
    said = declarable(study, header, rows, study.do_files, found)
    assert said is not None
    line = next(said.lines())
    assert line.startswith("declare this regression: epsilon 50 gives errors 1")
    assert said.regressions[0].where == ""
