from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from dprct.app.desk import Desk, StaleError, opened
from dprct.app.forms import keys
from dprct.app.words import in_fields
from dprct.cli import main
from dprct.errors import ConfirmationError, DprctError, FileError, StudyError
from dprct.study.asked import spec_of
from dprct.study.methods import ESTIMATES
from dprct.study.ready import open_points, study_of

from .conftest import LOUD

DONE = {
    ("columns", "treat", "fate"): "modelled",
    ("columns", "treat", "levels"): "0, 1",
    ("columns", "treat", "missing"): "never",
    ("columns", "treat", "role"): "treatment",
    ("columns", "got", "fate"): "modelled",
    ("columns", "got", "levels"): "0, 1",
    ("columns", "got", "missing"): "never",
    ("columns", "got", "role"): "outcome",
    ("columns", "age", "fate"): "modelled",
    ("columns", "age", "bounds"): "15 to 80",
    ("columns", "age", "bins"): "30, 50",
    ("columns", "age", "missing"): "never",
    ("columns", "income", "fate"): "withheld",
    ("header", "confirm"): "true",
}


def typed(changes: dict[tuple[Any, ...], str]) -> list[dict[str, Any]]:
    return [{"at": [*at], "typed": text} for at, text in changes.items()]


def complete(desk: Desk) -> None:
    desk.edit(desk.revision(), typed(DONE))


def column(desk: Desk, name: str) -> dict[str, Any]:
    (found,) = [one for one in desk.state()["columns"] if one["name"] == name]
    return dict(found)


def test_the_codebook_is_the_header(desk: Desk) -> None:
    state = desk.state()
    assert state["rows"] == 2000
    assert [one["name"] for one in state["columns"]] == ["treat", "got", "age", "income"]
    assert column(desk, "got")["label"] == LOUD
    assert column(desk, "got")["offered"] == {"levels": "0, 1", "missing": "."}
    assert column(desk, "age")["offered"] == {}
    json.dumps(state)


def test_the_data_section_is_not_read_until_protect(
    survey: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are garbage, and reading them is a failure: the page is the same."""
    whole = opened(survey, None)
    complete(whole)
    expected = whole.state()
    content = survey.read_bytes()
    start, end = content.index(b"<data>") + 6, content.index(b"</data>")
    survey.write_bytes(content[:start] + b"\xff" * (end - start) + content[end:])
    import dprct.io.stata as stata
    import dprct.study.headers as package

    monkeypatch.setattr(stata, "read_dta", lambda *_a, **_k: pytest.fail("the data were read"))
    monkeypatch.setattr(package, "read", lambda *_a, **_k: pytest.fail("the data were read"))
    desk = opened(survey, None)
    assert desk.state() == {**expected, "can_undo": False}
    assert "216" not in desk.plan()
    assert "K " in desk.plan()
    assert desk.outlook(1.0)["draws"][0]["noise"] > 0
    desk.edit(desk.revision(), typed({("columns", "age", "bounds"): "10, 90"}))


@pytest.mark.parametrize("is_new", [True, False])
def test_a_csv_is_read_before_the_page_is_there(
    is_new: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the page stays empty for as long as it takes, where the shell says that it reads."""
    path = tmp_path / "trial.csv"
    path.write_text("got,age\n1,30\n", "utf-8")
    desk = opened(path, None)
    desk = desk if is_new else opened(path, None)
    monkeypatch.setattr("dprct.app.desk.facts_of_file", lambda *_: pytest.fail("read again"))
    assert [one["name"] for one in desk.state()["columns"]] == ["got", "age"]


def test_open_points_are_those_of_the_command(desk: Desk) -> None:
    said = [one["point"] for one in desk.state()["open"]]
    assert said == open_points(study_of(desk.path))
    assert len(said) > 4
    complete(desk)
    assert desk.state()["open"] == []
    assert open_points(study_of(desk.path)) == []


def test_every_open_point_of_a_column_says_why_and_where(desk: Desk) -> None:
    page = (Path(__file__).parents[2] / "docs" / "choosing_bounds.md").read_text("utf-8")
    from dprct.app.reading import html_of

    html = html_of(page)
    for one in desk.state()["open"]:
        if one["column"]:
            assert one["why"]
            assert f'id="{one["anchor"]}"' in html


def test_comments_stay_and_undo_gives_every_byte_back(desk: Desk) -> None:
    before = desk.path.read_bytes()
    complete(desk)
    text = desk.path.read_text("utf-8")
    for line in before.decode("utf-8").splitlines():
        if line.startswith("#"):
            assert line in text
    assert "bounds = [15, 80]" in text
    desk.edit(desk.revision(), typed({("columns", "age", "bounds"): ""}))
    assert "bounds = [15, 80]" not in desk.path.read_text("utf-8")
    desk.undo(desk.revision())
    desk.undo(desk.revision())
    assert desk.path.read_bytes() == before
    with pytest.raises(StudyError, match="nothing to undo"):
        desk.undo(desk.revision())


def test_a_window_that_is_behind_changes_nothing(desk: Desk) -> None:
    old = desk.revision()
    desk.edit(old, typed({("columns", "age", "fate"): "filler"}))
    now = desk.path.read_bytes()
    with pytest.raises(StaleError, match="changed elsewhere"):
        desk.edit(old, typed({("columns", "age", "fate"): "drop"}))
    with pytest.raises(StaleError):
        desk.undo(old)
    assert desk.path.read_bytes() == now


def test_what_an_editor_wrote_is_not_undone(desk: Desk) -> None:
    desk.edit(desk.revision(), typed({("columns", "age", "fate"): "filler"}))
    desk.path.write_text(desk.path.read_text("utf-8") + "# by hand\n", "utf-8")
    assert not desk.state()["can_undo"]
    with pytest.raises(StudyError, match="nothing to undo"):
        desk.undo(desk.revision())
    assert desk.path.read_text("utf-8").endswith("# by hand\n")


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (["columns", "age", "bounds"], "80, 15"),
        (["columns", "age", "bounds"], "old, young"),
        (["columns", "age", "bounds"], "15"),
        (["columns", "age", "fate"], "publish"),
        (["columns", "age", "role"], "king"),
        (["columns", "age", "missing"], "perhaps"),
        (["columns", "age", "colour"], "red"),
        (["columns", "nobody", "fate"], "drop"),
        (["release", "epsilon"], "-1"),
        (["release", "epsilon"], "much"),
        (["release", "method"], "magic"),
        (["release", "output"], "../../elsewhere.dta"),
        (["release", "colour"], "red"),
        (["design", "kind"], "wild"),
        (["data"], ""),
        (["version", "x"], "2"),
        (["table", 5, "name"], "t"),
        (["table", 0], ""),
        ([], "x"),
    ],
)
def test_what_the_specification_refuses_is_not_written(
    desk: Desk, at: list[Any], text: str
) -> None:
    before = desk.path.read_bytes()
    with pytest.raises(DprctError):
        desk.edit(desk.revision(), [{"at": at, "typed": text}])
    assert desk.path.read_bytes() == before
    assert not desk.state()["can_undo"]


def test_many_changes_are_made_together_or_not_at_all(desk: Desk) -> None:
    before = desk.path.read_bytes()
    good = typed({("columns", name, "fate"): "drop" for name in ("treat", "got", "age")})
    with pytest.raises(DprctError):
        desk.edit(desk.revision(), [*good, {"at": ["columns", "age", "bounds"], "typed": "9, 1"}])
    assert desk.path.read_bytes() == before
    desk.edit(desk.revision(), good)
    assert [one["facts"]["fate"] for one in desk.state()["columns"][:3]] == ["drop"] * 3
    desk.undo(desk.revision())
    assert desk.path.read_bytes() == before


def test_a_column_that_was_wrong_by_hand_is_shown_and_mended(desk: Desk) -> None:
    desk.edit(desk.revision(), typed({("columns", "age", "bounds"): "15, 80"}))
    text = desk.path.read_text("utf-8").replace("bounds = [15, 80]", "bounds = [80, 15]")
    desk.path.write_text(text, "utf-8")
    assert "bounds" in column(desk, "age")["refused"]
    desk.edit(desk.revision(), typed({("columns", "age", "fate"): "filler"}))
    desk.edit(desk.revision(), typed({("columns", "age", "bounds"): "15, 80"}))
    assert column(desk, "age")["refused"] == ""


def test_a_file_that_is_no_toml_is_said_and_left_alone(desk: Desk) -> None:
    desk.path.write_text("data = [", "utf-8")
    state = desk.state()
    assert "not TOML" in state["error"]
    assert state["columns"] == []
    with pytest.raises(StudyError):
        desk.edit(state["revision"], typed({("columns", "age", "fate"): "drop"}))
    assert desk.path.read_text("utf-8") == "data = ["


def test_declared_regressions_are_written_and_removed(desk: Desk) -> None:
    changes = {
        ("release", "method"): "moments",
        ("design", "kind"): "simple",
        ("design", "arms"): "treat",
        ("regression", 0, "formula"): "got ~ treat",
        ("regression", 0, "where"): "age == 30",
        ("regression", 1, "formula"): "got ~ treat + age",
    }
    desk.edit(desk.revision(), typed(changes))  # type: ignore[arg-type]
    first, second = desk.study().asked.spec.formulas  # type: ignore[union-attr]
    assert (first.formula, first.where) == ("got ~ treat", "age == 30")
    at = [one["at"] for one in desk.state()["sections"] if one["name"] == "regression"]
    assert at == [["regression", 0], ["regression", 1], ["regression", 2]]
    desk.edit(desk.revision(), [{"at": ["regression", 0], "typed": ""}])
    assert desk.study().asked.spec.formulas == (second,)  # type: ignore[union-attr]
    with pytest.raises(StudyError, match="no such regression"):
        desk.edit(desk.revision(), [{"at": ["regression", 3], "typed": ""}])


def test_sections_and_tables_are_written_and_removed(desk: Desk) -> None:
    desk.edit(
        desk.revision(),
        typed(
            {
                ("release", "method"): "calibrated",
                ("release", "formula"): "got ~ treat",
                ("design", "kind"): "complete",
                ("design", "arms"): "treat",
                ("calibrated", "covariate_release"): "filler",
                ("budget", "epsilon"): "2",
                ("table", 0, "name"): "table2",
                ("table", 0, "outcomes"): "got",
                ("table", 0, "arms"): "treat",
            }  # type: ignore[arg-type]
        ),
    )
    study = desk.study()
    assert study.asked.spec.assignment.columns == ("treat",)
    assert study.tables[0].outcomes == ("got",)
    assert study.budget is not None
    assert study.budget.epsilon == 2
    names = [one["name"] for one in desk.state()["sections"]]
    assert {"design", "calibrated", "table"} <= {*names}
    desk.edit(desk.revision(), [{"at": ["table", 0], "typed": ""}])
    assert desk.study().tables == ()
    desk.edit(desk.revision(), [{"at": ["calibrated"], "typed": ""}])
    assert "[calibrated]\n" not in desk.path.read_text("utf-8").replace("# [calibrated]", "")


@pytest.mark.parametrize("method", [*ESTIMATES, "marginals", "published_hybrid"])
def test_every_method_has_its_form(desk: Desk, method: str) -> None:
    text = desk.path.read_text("utf-8")
    formula = "" if method == "marginals" else 'formula = "got ~ treat"\n'
    if method in ESTIMATES and not spec_of(method).formula_gives:
        formula = ""
    shared = Path(__file__).parents[2] / "docs" / "studies" / f"{method}.toml"
    if shared.exists():
        desk = Desk(desk.path.with_name("of_docs.toml"))
        desk.path.write_text(shared.read_text("utf-8"), "utf-8")
        data = desk.path.parent / "survey.dta"
        named = desk.path.read_text("utf-8").split('data = "')[1].split('"')[0]
        if not (desk.path.parent / named).exists():
            (desk.path.parent / named).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(data, desk.path.parent / named)
    else:
        changed = text.replace('method = "mv_histogram"', f'method = "{method}"\n{formula}', 1)
        desk.path.write_text(changed, "utf-8")
    state = desk.state()
    assert state["error"] == ""
    for section in state["sections"]:
        for one in section["fields"]:
            assert one["takes"] or one["help"]


def test_protecting_is_what_the_command_does(desk: Desk, command_line: Any) -> None:
    complete(desk)
    offer = desk.offer(desk.revision(), accept_no_guarantee=False)
    ran = command_line(main)("plan", desk.path)
    assert ran.code == 0
    assert offer["plan"] in ran.out
    assert f"Approval hash: {offer['sha256']}" in ran.out
    assert desk.state()["ledger"] is None
    made = desk.take(offer["sha256"])
    assert Path(made["files"][0]).name == "survey_protected.dta"
    assert "epsilon" in made["certificate"]
    state = desk.state()
    assert state["ledger"]["spent"] == 1.0
    assert state["output_there"]
    assert command_line(main)("verify", made["files"][0]).code == 0
    with pytest.raises(StudyError, match="it was taken"):
        desk.take(offer["sha256"])
    again = desk.offer(desk.revision(), accept_no_guarantee=False)
    with pytest.raises(DprctError, match="left"):
        desk.take(again["sha256"])
    assert desk.state()["ledger"]["spent"] == 1.0


def test_a_package_is_made_and_verified_as_by_its_commands(desk: Desk, command_line: Any) -> None:
    complete(desk)
    home = desk.path.parent
    (home / "tables.do").write_text('use "survey.dta", clear\nreg income treat, robust\n')
    desk.edit(desk.revision(), [{"at": ["package", "do"], "typed": "tables.do"}])
    with pytest.raises(DprctError, match="survey_protected"):
        desk.after("verify")
    made = desk.take(desk.offer(desk.revision(), accept_no_guarantee=False)["sha256"])
    steps = {one["deed"]: one for one in made["next"]}
    assert "package" not in steps
    assert next(one["new"] for one in made["next"] if "new" in one) == "survey_replication"
    (home / "other").mkdir()
    (home / "other" / "tables.do").write_text("* the same name\n")
    both = [{"at": ["package", "do"], "typed": '"tables.do", "other/tables.do"'}]
    desk.edit(desk.revision(), both)
    with pytest.raises(FileError, match="have one name"):
        desk.make_folder(desk.revision())
    assert not (home / "survey_replication").exists()
    desk.edit(desk.revision(), [{"at": ["package", "do"], "typed": "tables.do"}])
    desk.make_folder(desk.revision())
    assert desk.study().package.do == ("survey_replication/tables.do",)  # type: ignore[union-attr]
    before = desk.state()["ledger"]
    told = desk.after("package")
    package = home / "survey_package"
    assert "copied: tables.do" in told["lines"]
    found = desk.after("verify_package")
    assert found["ok"]
    assert desk.after("verify")["ok"]
    assert desk.state()["ledger"] == before  # nothing is charged by any of them
    ran = command_line(main)("verify", package)
    assert ran.code == 0
    assert "byte for byte" in ran.out
    assert any("byte for byte" in line for line in found["lines"])
    # by the command the same files
    by_page = {path.name: path.read_bytes() for path in package.rglob("*") if path.is_file()}
    assert command_line(main)("package", desk.path, "--yes").code == 0
    assert {p.name: p.read_bytes() for p in package.rglob("*") if p.is_file()} == by_page
    # one byte of the protected file is changed
    with (package / "survey.dta").open("r+b") as file:
        file.seek(-20, 2)
        file.write(b"x")
    changed = desk.after("verify_package")
    assert not changed["ok"]
    assert "'survey.dta' was changed" in changed["lines"][0]
    with pytest.raises(StudyError, match="no such button"):
        desk.after("format")


def test_declared_tables_are_shown_with_the_release(desk: Desk) -> None:
    complete(desk)
    table = {
        ("table", 0, "name"): "t", ("table", 0, "outcomes"): "got", ("table", 0, "arms"): "treat",
    }  # fmt: skip
    desk.edit(desk.revision(), typed(table))  # type: ignore[arg-type]
    offer = desk.offer(desk.revision(), accept_no_guarantee=False)
    (shown,) = desk.take(offer["sha256"])["tables"]
    assert shown.startswith("t\n===")
    assert "drew a voucher" in shown or "treat" in shown


def test_what_changed_after_the_data_were_opened_is_not_released(desk: Desk) -> None:
    complete(desk)
    offer = desk.offer(desk.revision(), accept_no_guarantee=False)
    desk.edit(desk.revision(), typed({("columns", "age", "bins"): "5"}))
    with pytest.raises(StaleError, match="after the data were opened"):
        desk.take(offer["sha256"])
    assert desk.state()["ledger"] is None
    with pytest.raises(StudyError, match="no such offer"):
        desk.take("0" * 64)


def test_an_incomplete_study_and_one_without_a_guarantee_are_refused(desk: Desk) -> None:
    with pytest.raises(StudyError, match="not complete"):
        desk.offer(desk.revision(), accept_no_guarantee=False)
    complete(desk)
    method = typed({("release", "method"): "published_mv_histogram"})
    desk.edit(desk.revision(), method)
    with pytest.raises(ConfirmationError, match="no differential-privacy guarantee"):
        desk.offer(desk.revision(), accept_no_guarantee=False)
    assert "NO DP" in desk.offer(desk.revision(), accept_no_guarantee=True)["words"]


def test_data_that_break_a_declaration_are_refused_without_a_value(desk: Desk) -> None:
    complete(desk)
    desk.edit(desk.revision(), typed({("columns", "age", "bounds"): "15, 60",
                                      ("columns", "age", "bins"): "5"}))  # fmt: skip
    with pytest.raises(DprctError, match="age") as refused:
        desk.offer(desk.revision(), accept_no_guarantee=False)
    for value in range(61, 80):
        assert str(value) not in str(refused.value)


def test_a_study_file_of_other_data_is_refused(desk: Desk, survey: Path) -> None:
    other = survey.with_name("other.dta")
    shutil.copy(survey, other)
    with pytest.raises(FileError, match="--study"):
        opened(other, desk.path)
    with pytest.raises(FileError, match="is a study file; give the data that it names, 'survey"):
        opened(desk.path, None)


def test_every_fact_of_a_column_can_be_declared(desk: Desk) -> None:
    from dprct.app.desk import FACTS, MORE
    from dprct.schema.facts import DECLARABLE

    state = desk.state()
    assert sorted((*FACTS, *MORE)) == sorted(DECLARABLE)
    assert [*state["more"]] == [*MORE]
    said = {
        "decimals": "2", "integer": "true", "exclusive": "arm", "built_from": "own",
        "constants_public": "true", "coordinates": "false", "confirmed": "true",
        "label": "years, with months", "format": "%9.2f",
    }  # fmt: skip
    for name, text in said.items():
        desk.edit(desk.revision(), typed({("columns", "income", name): text}))
        assert column(desk, "income")["facts"][name] == text
        desk.edit(desk.revision(), typed({("columns", "income", name): ""}))
    desk.edit(desk.revision(), typed({("columns", "income", "derived"): "age * 12"}))
    assert column(desk, "income")["facts"]["derived"] == "age * 12"


def test_sizes_are_those_of_the_plan_and_move_with_the_bins(desk: Desk) -> None:
    complete(desk)
    # income is still without a fate: the sizes are those of what is modelled
    desk.edit(desk.revision(), typed({("columns", "income", "fate"): ""}))
    assert desk.state()["open"]
    found = desk.sizes()
    assert found is not None
    assert found["columns"] == {"treat": 2, "got": 2, "age": 3}
    assert found["cells"] == 12
    desk.edit(desk.revision(), typed({("columns", "age", "bins"): "60"}))
    many = desk.sizes()
    assert many is not None
    assert many["cells"] == 240
    assert many["threshold"] >= found["threshold"]
    desk.edit(desk.revision(), typed({("columns", "income", "fate"): "withheld"}))
    plan = " ".join(desk.plan().split())
    assert f"K {many['cells']} cells" in plan
    assert f"t {many['threshold']} rows (" in plan
    words = "all 240 combinations" if many["survivors"] == 240 else f"{many['survivors']} comb"
    assert words in plan
    desk.edit(desk.revision(), typed({("release", "method"): "marginals"}))
    assert desk.sizes() is None


def test_verdicts_are_those_of_check(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert desk.verdicts() == {"files": [], "summary": [], "rows": []}
    do = desk.path.with_name("tables.do")
    do.write_text(
        'use "survey.dta", clear\n* Table 1\nreg got treat, robust\nreg income treat, robust\n'
    )
    complete(desk)
    given = Desk(desk.path, (do,)).verdicts()
    desk.edit(desk.revision(), [{"at": ["package", "do"], "typed": "tables.do"}])
    found = desk.verdicts()
    assert found == given
    assert [one["line"] for one in found["rows"]] == [3, 4]
    assert [one["verdict"] for one in found["rows"]] == ["artefact", "cannot run"]
    with pytest.raises(SystemExit):
        main(["check", str(desk.path)])
    said = " ".join(capsys.readouterr().out.split())
    known = {key for of in keys().values() for key in of}
    for line in found["summary"]:
        assert line in said
    for one in found["rows"]:
        assert f"tables.do:{one['line']}" in said
        assert one["reason"] in in_fields(said, known)
        assert one["remedy"] in in_fields(said, known)
    do.unlink()
    with pytest.raises(FileError, match=r"tables\.do"):
        desk.verdicts()


def test_a_csv_is_read_once_to_be_opened_and_its_text_becomes_levels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dprct.study.headers as package

    data = tmp_path / "mail.csv"
    rows = "".join(f"{letter},{i % 2}\n" for i in range(600) for letter in ("none", "plea"))
    data.write_text(f"letter,voted\n{rows}", "utf-8")
    reads = []
    look = package.facts_of_csv
    monkeypatch.setattr(package, "facts_of_csv", lambda path: reads.append(path) or look(path))
    desk = opened(data, None)
    assert desk.state()["rows"] == 1200
    assert len(reads) == 1
    answer = {("columns", "letter", "role"): "covariate", ("columns", "letter", "fate"): ""}
    desk.edit(desk.revision(), typed(answer))
    about = [one["at"] for one in desk.state()["open"] if one["column"] == "letter"]
    assert ["columns", "letter", "levels"] in about
    assert ["columns", "letter", "fate"] not in about  # it was said
    answers = {
        ("columns", "letter", "levels"): "none, plea",
        ("columns", "letter", "missing"): "never",
        ("columns", "letter", "fate"): "modelled",
        ("columns", "voted", "levels"): "0, 1",
        ("columns", "voted", "missing"): "never",
        ("columns", "voted", "fate"): "modelled",
        ("header", "confirm"): "true",
        ("budget", "epsilon"): "2",
    }
    desk.edit(desk.revision(), typed(answers))
    assert desk.state()["open"] == []
    offer = desk.offer(desk.revision(), accept_no_guarantee=False)
    desk.take(offer["sha256"])
    import dprct

    assert desk.released_file("mail_protected.csv").startswith(b"letter,voted\n")
    as_text = tmp_path / "mail_protected.csv"
    certificate = tmp_path / "mail_protected.certificate.json"
    assert dprct.verify(as_text, certificate).values == "match"
    # another release takes the place of both; a file that is none of its is not replaced
    old = as_text.read_bytes()
    desk.take(desk.offer(desk.revision(), accept_no_guarantee=False)["sha256"])
    assert dprct.verify(as_text, certificate).values == "match"
    assert as_text.read_bytes() != old
    as_text.write_text("letter,voted\nnone,1\n", "utf-8")
    with pytest.raises(FileError, match="is not of this release"):
        desk.offer(desk.revision(), accept_no_guarantee=False)
    assert desk.released_file("mail_protected.certificate.html").startswith(b"<!DOCTYPE html>")
    with pytest.raises(FileError, match="no released file"):
        desk.released_file("mail.csv")
    protected, schema = dprct.read_dta(tmp_path / "mail_protected.dta")
    assert set(protected["letter"]) == {"none", "plea"}
    assert len(protected) == 1200
    assert schema.column("letter").type == "strL"


def test_the_rows_of_a_sample_are_not_those_of_the_file(desk: Desk) -> None:
    assert desk.state()["rows"] == 2000
    desk.edit(desk.revision(), [{"at": ["study", "sample"], "typed": "treat == 1"}])
    assert desk.state()["rows"] is None
    desk.undo(desk.revision())
    assert desk.state()["rows"] == 2000
