"""The page in a real browser: a newcomer's path, and what goes wrong on the way."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.app.desk import Desk, opened
from dprct.disk import read_toml
from dprct.errors import StudyError
from dprct.privacy.accountant import find_ledger
from dprct.schema import Column, FileFacts, Schema
from dprct.study.draft import draft

from .conftest import LOUD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from .conftest import Chromium, Served, Window

SAID = "document.getElementById('said').textContent"
WRONG = "document.getElementById('wrong').textContent"
OPEN_6 = "!document.getElementById('offer').disabled"


def hidden(name: str) -> str:
    return f"document.getElementById('{name}').hidden"


@pytest.fixture
def page(desk: Desk, serving: Callable[..., Served], chromium: Chromium) -> Window:
    window = chromium.window(serving(desk).address)
    window.ready()
    return window


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    """An experiment within sites, and what people chose."""
    rng = np.random.default_rng(8)
    n = 1200
    data = pd.DataFrame(
        {
            "cash": np.tile([0.0, 1.0], n // 2),
            "site": np.repeat([1.0, 2.0, 3.0, 4.0], n // 4),
            "income": rng.gamma(2, 8, n).clip(0, 40),
            "age": rng.integers(18, 65, n).astype(float),
            "note": rng.integers(0, 9, n).astype(float),
        }
    )
    path = tmp_path / "trial.dta"
    dprct.write_dta(data, Schema(tuple(Column(c, "double", "%9.0g") for c in data)), path)
    return path


def release(page: Window) -> None:
    """Open the data, confirm, and wait for what was released."""
    page.step(6)
    page.until(OPEN_6)
    page.click("#offer")
    page.until("document.getElementById('modal').open")
    page.click("#confirm")
    page.click("#take")
    page.until(f"!{hidden('made')}")


def declare(page: Window, **facts: str) -> None:
    """Declare facts, each written as column_fact."""
    for name, text in facts.items():
        column, _, fact = name.rpartition("_")
        page.set(f"f-columns-{column}-{fact}", text)


def end(page: Window) -> None:
    """Leave out what has no role, and say what is said of all columns."""
    if not page.js("document.getElementById('leave-out').hidden"):
        page.press("#leave-out")
    page.press("#never-missing")
    page.press("#f-header-confirm")


def test_an_experiment_from_opening_to_release(
    trial: Path, serving: Callable[..., Served], chromium: Chromium
) -> None:
    """The six steps, as a newcomer takes them, and nothing is charged before the question."""
    desk = opened(trial, None)
    page = chromium.window(serving(desk).address)
    page.ready()
    page.press("#family-experiment")
    page.set("f-package-do", "tables.do")
    assert "Not found: tables.do." in page.text("#no-do-files")
    do = trial.with_name("tables.do")
    do.write_text('use "trial.dta", clear\nreg income cash i.site, robust\n')
    page.set("f-package-do", "")
    page.set("f-package-do", "tables.do")
    assert page.text("#no-do-files") == ""
    page.step(2)
    page.roles(income="outcome", cash="treatment", site="block", age="covariate")
    declare(page, income_bounds="0, 40", age_bounds="18, 65", cash_levels="0, 1")
    # a value that is wrong by itself is not saved, and is said beside it and at the top
    page.fill("f-columns-age-bounds", "65, 18")
    page.until("document.querySelector('#f-columns-age-bounds').getAttribute('aria-invalid')")
    assert "Not saved" in page.text("#f-columns-age-bounds-wrong")
    assert "give the smaller one first" in page.text("#unsaved-list")
    assert desk.study().columns["age"]["bounds"] == [18, 65]
    page.step(6)
    assert page.js("document.getElementById('offer').disabled")  # held back while it is not saved
    page.step(2)
    page.set("f-columns-age-bounds", "18, 60")
    page.press("#undo")
    assert desk.study().columns["age"]["bounds"] == [18, 65]
    end(page)
    page.step(3)
    assert "readers get a file" in page.text("#proposal")
    assert page.js("document.getElementById('f-release-formula').value") == "income ~ cash + age"
    page.step(4)
    assert "74 %" in page.text("#meaning")
    page.js(
        "(() => { const one = document.getElementById('slider'); one.value = '140';"
        "one.dispatchEvent(new Event('input')); })()"
    )
    page.until("document.getElementById('meaning').textContent.includes('97 %')")
    assert desk.study().release.epsilon == 1.0  # held, and not yet let go
    assert page.js("document.getElementById('f-release-epsilon').value") == "3.3"
    page.until("document.getElementById('quick').textContent.includes('as without privacy')")
    page.js("document.getElementById('slider').dispatchEvent(new Event('change'))")
    page.settled()
    assert desk.study().release.epsilon == 3.3
    page.step(5)
    page.until("document.getElementById('ahead').dataset.complete")
    assert "Made up" in page.text("#made-up-box")
    assert page.js("document.querySelectorAll('#intervals svg .with').length") >= 3
    assert page.js("document.querySelectorAll('#curve svg path.total').length") == 1
    release(page)
    assert "trial_protected.dta" in page.text("#files")
    assert "dprct table" not in page.text("#made")  # no table was declared
    # the folder for the journal by three buttons, each doing what its command does
    buttons = "[...document.querySelectorAll('#next button')]"
    page.js(f"{buttons}.find(one => one.textContent.includes('new folder')).click()")
    page.press("#after-package")
    page.until("document.getElementById('after-verify_package')")
    page.press("#after-verify_package")
    page.until("document.getElementById('next').textContent.includes('is as it was written')")
    assert page.js("document.querySelectorAll('#next .answer.bad').length") == 0
    assert page.js("document.querySelectorAll('#made svg .dot').length") == 1
    page.until("document.querySelector('#spent svg rect.spent')")
    protected, _ = dprct.read_dta(trial.with_name("trial_protected.dta"))
    assert len(protected) == 1200
    name = "trial_protected.certificate.html"
    address = f"released/{name}"
    assert page.js(f"fetch('{address}').then(a => a.text()).then(t => t.includes('Certificate'))")
    own = page.js("location.origin")
    assert {address.startswith(f"{own}/") for address in page.requests()} <= {True}
    # the browser itself notes that the bad bounds were refused, and nothing else
    assert [one for one in page.complaints() if "status of 422" not in one] == []


def test_an_observational_study_is_killed_reloaded_and_resumed(
    trial: Path,
    serving: Callable[..., Served],
    chromium: Chromium,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was charged is what the ledger says, in every window and after a crash."""
    served = serving(opened(trial, None), 3.0)
    page, other = chromium.window(served.address), chromium.window(served.address)
    page.ready()
    page.press("#family-observational")
    page.step(2)
    page.roles(income="outcome", cash="treatment", age="covariate")
    declare(page, income_bounds="0, 40", age_bounds="18, 65", cash_levels="0, 1")
    end(page)
    page.set("f-release-epsilon", "4")
    import dprct.study.offer as offering

    begun, go_on = threading.Event(), threading.Event()
    written = offering.written_files

    def killed(*_: Any, **__: Any) -> Any:
        begun.set()
        assert go_on.wait(60)
        raise StudyError("the disk is full; make room")

    monkeypatch.setattr(offering, "written_files", killed)
    page.step(6)
    page.until(OPEN_6)
    page.click("#offer")
    page.until("document.getElementById('modal').open")
    page.click("#confirm")
    page.click("#take")
    assert begun.wait(60)
    # charged, and not written: a reload and a second window say so, and neither can release again
    page.reload()
    for window in (page, other):
        window.step(6)
        window.until(f"!{hidden('working')}")
        window.until("document.getElementById('working-words').textContent.includes('Charged')")
        window.until("document.getElementById('working-share').value === 2")  # of three stages
        assert window.js("document.getElementById('offer').disabled")
    go_on.set()
    page.until(f"!{hidden('lost')}")
    assert "write it again, free" in page.text("#lost")
    assert not trial.with_name("trial_ipw.json").exists()
    monkeypatch.setattr(offering, "written_files", written)
    page.click("#lost button")
    page.until(f"!{hidden('made')} && {hidden('lost')}")
    other.until(f"!{hidden('made')} && {hidden('lost')}")
    assert "trial_ipw.json" in other.text("#files")
    assert other.js("document.querySelectorAll('#made svg .dot').length") >= 1
    ledger = find_ledger(trial, "trial")
    assert ledger is not None
    assert len(ledger.ledger) == 1


HELD = """
import sys, time
from pathlib import Path
import dprct.study.offer as offering
from dprct.app.desk import opened
from dprct.app.server import serve
from dprct.privacy.accountant import Accountant

def held(*_, **__):
    Path(sys.argv[2]).touch()
    time.sleep(600)

data, _, moment = map(Path, sys.argv[1:])
if moment.name == "charged":
    Accountant.record = held
if moment.name == "saved":
    offering.written_files = held
serve(opened(data, None), 0, browser=False, announce=lambda said: print(said, flush=True), grace=30)
"""


@contextlib.contextmanager
def served_until(data: Path, moment: str) -> Iterator[tuple[str, Path, subprocess.Popen[str]]]:
    """A server of its own process, which halts at a moment of the release, and is killed."""
    reached = data.with_name(f"{moment}.reached")
    command = [sys.executable, "-c", HELD, str(data), str(reached), moment]
    # where R was loaded in this process before, its libraries come before Python's own
    env = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), reached, process
        finally:
            process.kill()


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is of POSIX")
def test_a_server_killed_in_mid_charge_leaves_one_truth(survey: Path, chromium: Chromium) -> None:
    """SIGKILL after the charge, and after the numbers are kept: page, ledger, reload agree."""
    desk = opened(survey, None)
    at = {("columns", name, "fate"): "drop" for name in ("treat", "got", "income")}
    at |= {("columns", "age", "fate"): "modelled", ("columns", "age", "bounds"): "15, 80"}
    at |= {("columns", "age", "bins"): "5", ("columns", "age", "missing"): "never"}
    at |= {("header", "confirm"): "true", ("budget", "epsilon"): "2"}
    desk.edit(desk.revision(), [{"at": [*key], "typed": text} for key, text in at.items()])
    told = {"charged": "", "saved": "SPENT", "never": "write it again, free"}
    for moment, says in told.items():
        with served_until(survey, moment) as (address, reached, process):
            page = chromium.window(address)
            page.ready()
            page.step(6)
            if says:
                page.until(f"!{hidden('lost')}")
                assert says in page.text("#lost")
                assert not survey.with_name("survey_protected.dta").exists()
            if moment != "never":
                page.until(OPEN_6)
                page.click("#offer")
                page.until("document.getElementById('modal').open")
                page.click("#confirm")
                page.click("#take")
                page.until("document.getElementById('working').textContent.includes('Charged')")
                wait_for(reached)
                process.send_signal(signal.SIGKILL)
                page.until(f"!{hidden('gone')}")
                page.close()
                continue
            states = [one["state"] for one in desk.state()["ledger"]["entries"]]
            assert states == ["crashed", "saved"]
            page.reload()
            page.until(f"!{hidden('lost')}")
            page.click("#lost button")
            page.until(f"!{hidden('made')}")
            page.until("document.getElementById('made').textContent.includes('survey_prot')")
            page.close()
    ledger = find_ledger(survey, "survey")
    assert ledger is not None
    assert float(ledger.spent.epsilon) == 2
    assert [one["state"] for one in desk.state()["ledger"]["entries"]] == ["crashed", "written"]


def wait_for(place: Path) -> None:
    end = time.monotonic() + 60
    while not place.exists():
        assert time.monotonic() < end, place.name
        time.sleep(0.05)


def test_a_csv_with_text_arms(
    tmp_path: Path, serving: Callable[..., Served], chromium: Chromium
) -> None:
    data = tmp_path / "mail.csv"
    rows = "".join(f"{letter},{i % 2}\n" for i in range(300) for letter in ("none", "plea"))
    data.write_text(f"letter,voted\n{rows}", "utf-8")
    desk = opened(data, None)
    page = chromium.window(serving(desk).address)
    page.ready()
    assert "no header" in page.text("#source")
    page.press("#family-experiment")
    page.step(2)
    page.roles(voted="outcome", letter="treatment")
    declare(page, letter_levels="plea, none", voted_levels="0, 1")
    end(page)
    page.step(3)
    page.set("f-design-kind", "complete")
    page.press("#method-private_ate")
    assert desk.study().asked.spec.control == "none"
    release(page)
    assert "plea" in page.text("#made")


def test_a_survey_with_labelled_answers(
    tmp_path: Path, serving: Callable[..., Served], chromium: Chromium
) -> None:
    """Regressions with their categories, then the file that is proposed, with fewer bins."""
    rng = np.random.default_rng(12)
    data = pd.DataFrame(
        {
            "trust": rng.integers(0, 11, 900).astype(float),
            "region": rng.integers(1, 5, 900).astype(float),
            "age": rng.integers(18, 90, 900).astype(float),
        }
    )
    labels = {"region": {1: "north", 2: "south", 3: "east", 4: "west"}}
    columns = (
        Column("trust", "byte"),
        Column("region", "byte", value_label="region"),
        Column("age", "int"),
    )
    path = tmp_path / "survey.dta"
    dprct.write_dta(data, Schema(columns, FileFacts(value_labels=labels)), path)
    desk = opened(path, None)
    page = chromium.window(serving(desk).address)
    page.ready()
    page.press("#family-survey")
    page.step(2)
    page.roles(trust="outcome", region="covariate", age="covariate")
    declare(page, trust_bounds="0, 10", age_bounds="18, 90", trust_bins="10", age_bins="12")
    page.press("[aria-label='The labelled codes are all: 1, 2, 3, 4 (region)']")
    end(page)
    page.step(3)
    page.press("#method-moments")
    assert "because its numbers are codes (1 north" in page.text("#categories")
    page.press("#categories button")
    assert desk.study().asked.spec.formulas == ("trust ~ region + age",)
    page.press("#categories button")
    assert desk.study().asked.spec.formulas == ("trust ~ C(region) + age",)
    page.step(5)
    page.until("document.getElementById('intervals').textContent.includes('times the error')")
    page.step(3)
    page.press("#method-mv_histogram")
    assert "combinations of answers for 900 rows" in page.text("#open-3")
    page.press("#open-3 button")
    page.step(5)
    page.until("document.getElementById('ahead').dataset.complete")
    release(page)
    assert "survey_protected.dta" in page.text("#files")
    page.press("#after-verify")
    page.until("document.querySelector('#next .answer')")
    assert page.js("document.querySelectorAll('#next .answer.bad').length") == 0


def test_labels_are_text_and_nothing_else(page: Window) -> None:
    assert LOUD in page.text("#columns")
    assert "<h1>a survey</h1>" in page.text("#source")
    assert "<i>yes</i>" in page.text("#columns")
    loud = "document.querySelectorAll('#columns script, #columns img, #columns i, #columns b')"
    assert page.js(f"{loud}.length") == 0
    assert page.js("document.body.dataset.hacked === undefined")


def test_two_windows_see_the_same_study(
    desk: Desk, serving: Callable[..., Served], chromium: Chromium
) -> None:
    served = serving(desk)
    one, other = chromium.window(served.address), chromium.window(served.address)
    one.ready()
    other.ready()
    one.roles(age="covariate")
    other.until("document.getElementById('role-age').value === 'covariate'")
    # what an editor saved meanwhile is not overwritten: the change has to be made again
    text = desk.path.read_text("utf-8").replace('role = "covariate"', 'role = "outcome"')
    desk.path.write_text(text, "utf-8")
    other.fill("f-columns-age-missing", "never")
    other.until(f"{WRONG}.includes('changed elsewhere')")
    other.until("document.getElementById('role-age').value === 'outcome'")
    other.set("f-columns-age-missing", "never")
    one.until("document.getElementById('f-columns-age-missing').value === 'never'")
    assert desk.study().columns["age"]["role"] == "outcome"
    assert desk.study().columns["age"]["missing"] == "never"
    # the study file beside the page is the same
    assert 'role = "outcome"' in one.js("document.getElementById('study-text').value")
    other.close()
    one.roles(age="")
    assert served.thread.is_alive()


def test_a_reload_keeps_the_step_and_closing_ends_the_server(
    desk: Desk, serving: Callable[..., Served], chromium: Chromium
) -> None:
    served = serving(desk, 3.0)
    window = chromium.window(served.address)
    window.ready()
    window.step(2)
    window.roles(age="out")
    window.reload()
    window.until(f"!{hidden('step-2')}")
    assert window.js("document.getElementById('role-age').value") == "out"
    assert not window.js("document.getElementById('undo').disabled")
    assert served.thread.is_alive()
    window.close()
    served.thread.join(60)
    assert not served.thread.is_alive()


def test_a_server_that_stopped_is_said_and_loses_nothing_that_was_saved(
    desk: Desk, serving: Callable[..., Served], chromium: Chromium, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dprct.app import server

    monkeypatch.setattr(server.Windows, "ended", lambda self, _now: getattr(self, "stop", False))
    served = serving(desk)
    window = chromium.window(served.address)
    window.ready()
    window.roles(age="other")
    monkeypatch.setattr(server.Windows, "ended", lambda *_: True)
    served.thread.join(60)
    window.until(f"!{hidden('gone')}")
    window.fill("f-columns-age-fate", "drop")
    window.until(f"{WRONG}.includes('does not answer')")
    assert "Not saved yet" in window.text("#saving")
    assert desk.study().columns["age"] == {"fate": "withheld"}


class Foreign(BaseHTTPRequestHandler):
    """A page of somebody else."""

    def do_GET(self) -> None:
        content = b"<!DOCTYPE html><title>foreign</title><body data-revision=1>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def test_another_site_gets_nothing_even_with_the_address(
    desk: Desk, serving: Callable[..., Served], chromium: Chromium
) -> None:
    served = serving(desk)
    with ThreadingHTTPServer(("127.0.0.1", 0), Foreign) as foreign:
        thread = threading.Thread(target=foreign.serve_forever)
        thread.start()
        window = chromium.window(f"http://localhost:{foreign.server_port}/")
        window.ready()
        before = desk.path.read_bytes()
        body = {
            "revision": desk.revision(),
            "changes": [{"at": ["columns", "age", "fate"], "typed": "drop"}],
        }
        for options in (
            {"headers": {"Content-Type": "application/json"}},
            {"mode": "no-cors", "headers": {"Content-Type": "text/plain"}},
        ):
            sent = json.dumps({"method": "POST", "body": json.dumps(body), **options})
            found = window.js(
                f"fetch('{served.address}do/edit', {sent}).then(a => a.type + a.status, () => 'no')"
            )
            assert found in ("no", "opaque0")
        found = window.js(f"fetch('{served.address}').then(() => 'read', () => 'no')")
        assert found == "no"
        framed = window.js(
            "new Promise(done => { const f = document.createElement('iframe');"
            f"f.onload = () => done(f.contentDocument === null); f.src = '{served.address}';"
            "document.body.append(f); })"
        )
        assert framed is True
        assert desk.path.read_bytes() == before
        foreign.shutdown()
        thread.join()


def test_without_the_token_the_browser_shows_nothing(
    desk: Desk, serving: Callable[..., Served], chromium: Chromium
) -> None:
    served = serving(desk)
    window = chromium.window("about:blank")
    window.go(f"{served.origin}/")
    window.until("location.href.startsWith('http') || location.href.startsWith('chrome-error')")
    assert "survey" not in window.js("document.documentElement.innerText")


def test_the_keyboard_is_enough(page: Window, desk: Desk) -> None:
    """Tab leads from field to field, typing and Enter or Tab saves, and every field has a name."""
    page.step(2)
    page.roles(age="covariate")
    page.js("document.getElementById('f-columns-age-levels').focus()")
    page.key("Tab", 9)
    assert page.js("document.activeElement.id") == "f-columns-age-bounds"
    page.write("15, 80")
    page.key("Enter", 13)
    page.settled()
    assert desk.study().columns["age"]["bounds"] == [15, 80]
    page.step(6)
    page.js("document.getElementById('to-1').focus()")
    stops = 0
    while page.js("document.activeElement.id") != "none" and stops < 20:
        page.key("Tab", 9)
        stops += 1
        if page.js("document.activeElement.closest('#step-6') !== null"):
            break
    assert stops <= 15
    for number in range(1, 7):
        page.step(number)
        unnamed = page.js(
            "[...document.querySelectorAll('input, select, textarea, button, progress')].filter("
            "one => !(one.getAttribute('aria-label') || one.textContent.trim() || "
            "(one.labels || []).length)).map(one => one.id)"
        )
        assert unnamed == []
    twice = page.js(
        "(() => { const all = [...document.querySelectorAll('[id]')].map(one => one.id);"
        "return all.filter((one, at) => all.indexOf(one) !== at); })()"
    )
    assert twice == []


def test_everybody_can_use_each_step(page: Window, axe: Path) -> None:
    """Axe finds nothing, by day and by night, whatever is open."""
    page.roles(age="covariate", income="outcome", treat="treatment")
    page.press("#family-experiment")
    page.fill("f-columns-age-bounds", "80, 15")  # with what is wrong beside its field
    for number in range(1, 7):
        page.step(number)
        page.js("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        page.dark(False)
        assert page.unusable(axe) == [], number
        page.dark(True)
        assert page.unusable(axe, "color-contrast") == [], number
    page.dark(False)


def test_it_fits_narrow_and_wide_windows(page: Window) -> None:
    page.roles(age="covariate", income="outcome", treat="treatment")
    page.press("#family-experiment")
    wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    for width in (390, 1366, 1920):
        page.size(width)
        for number in range(1, 7):
            page.step(number)
            page.js("document.querySelectorAll('details').forEach(one => { one.open = true; })")
            assert page.js(wider) <= 0, (width, number)


def test_four_hundred_columns_are_searched_and_set(
    tmp_path: Path, serving: Callable[..., Served], chromium: Chromium
) -> None:
    names = [f"inc_{i}" for i in range(200)] + [f"q{i}" for i in range(200)]
    schema = Schema(tuple(Column(name, "byte", "%8.0g", f"question {name}") for name in names))
    path = tmp_path / "wide.dta"
    dprct.write_dta(pd.DataFrame({name: [0.0, 1.0] for name in names}), schema, path)
    desk = opened(path, None)
    assert desk.path.read_text("utf-8") == draft(Schema.from_dta(path), path, desk.path)
    window = chromium.window(serving(desk).address)
    window.ready()
    window.step(2)
    window.fill("search", "inc_1*")
    assert window.text("#count") == "111 of 400 columns are shown"
    window.js("document.getElementById('bulk-fact').value = 'fate'")
    window.js("document.getElementById('bulk-value').value = 'drop'")
    window.press("#bulk-set")
    columns = read_toml(desk.path, StudyError)["columns"]
    assert [name for name in columns if columns[name].get("fate") == "drop"] == [
        name for name in names if name.startswith("inc_1")
    ]


def test_rare_facts_bins_and_verdicts(page: Window, desk: Desk) -> None:
    """Rarer facts in a dialog; combinations after each change; a verdict for each regression."""
    page.step(2)
    page.roles(age="covariate")
    page.click('[aria-label="more about age"]')
    page.until("document.getElementById('more').open")
    page.press("#f-columns-age-integer")
    page.set("f-columns-age-integer", "true")
    page.fill("f-columns-age-decimals", "many")
    page.until("document.getElementById('f-columns-age-decimals-wrong').textContent.length > 9")
    page.set("f-columns-age-decimals", "")
    page.click("#more-close")
    assert desk.study().columns["age"]["integer"] is True
    # what was typed into a field that is no longer asked for holds nothing back
    page.press("#method-ipw")
    page.fill("f-ipw-trim", "much")
    page.until("document.getElementById('unsaved-list').textContent.includes('trim')")
    page.click("#method-mv_histogram")
    page.settled()
    assert page.js(hidden("unsaved"))
    declare(page, age_bounds="15, 80", age_missing="never", age_bins="5")
    page.step(5)
    page.until("document.getElementById('sizes-words').textContent.includes('5 combinations')")
    page.set("f-columns-age-bins", "65")
    page.until("document.getElementById('sizes-words').textContent.includes('65 combinations')")
    assert "Name your do-files" in page.text("#worth")
    do = desk.path.with_name("tables.do")
    do.write_text('use "survey.dta", clear\n* Table <b>1</b>\nreg income age, robust\n')
    page.set("f-package-do", "tables.do")
    page.until("document.getElementById('worth').textContent.includes('tables.do:3')")
    assert "artefact" in page.text("#worth")
    assert page.js("document.querySelectorAll('#worth b').length") == 0


def test_regressions_of_their_own_and_subgroups_from_the_form_to_the_picture(
    tmp_path: Path, serving: Callable[..., Served], chromium: Chromium, axe: Path
) -> None:
    """What decides a regression is in sight, choices are in words, and labels name the levels."""
    rng = np.random.default_rng(9)
    n = 2000
    data = pd.DataFrame(
        {
            "voucher": np.tile([0.0, 1.0], n // 2),
            "area": rng.integers(1, 3, n).astype(float),
            "sales": rng.gamma(2, 8, n).clip(0, 60),
        }
    )
    columns = (
        Column("voucher", "byte", "%8.0g"), Column("area", "byte", "%8.0g", "", "areas"),
        Column("sales", "double", "%9.0g"),
    )  # fmt: skip
    path = tmp_path / "traders.dta"
    labels = FileFacts(value_labels={"areas": {1: "rural", 2: "urban"}})
    dprct.write_dta(data, Schema(columns, labels), path)
    page = chromium.window(serving(opened(path, None)).address)
    page.ready()
    page.press("#family-experiment")
    page.step(2)
    page.roles(voucher="treatment", sales="outcome", area="covariate")
    declare(page, voucher_levels="0, 1", area_levels="1, 2", sales_bounds="0, 60")
    end(page)
    page.step(3)
    page.press("#method-moments")
    page.set("f-design-kind", "complete")
    page.set("f-moments-formulas", "sales ~ voucher,\n  sales ~ voucher + area")
    page.set("f-moments-subgroups", "area")
    asked = {"formula": "sales ~ voucher", "where": "area == 2", "name": "urban"}
    for key, text in asked.items():
        page.set(f"f-regression-0-{key}", text)
    for key in ("formula", "where", "family", "weights", "name"):
        assert page.js(f"document.getElementById('f-regression-0-{key}').checkVisibility()"), key
    choices = "[...document.getElementById('f-moments-neighbors').options].map(one => one.text)"
    assert "who was treated is public" in page.js(choices)
    page.press("#open-3 li button")  # it is public who was treated
    assert page.text("#open-3 ul") == ""
    # a line end is none of a formula: Enter saves
    page.js("document.getElementById('f-moments-formulas').focus()")
    page.key("Enter", 13)
    study = path.with_suffix(".toml")
    formulas = ["sales ~ voucher", "sales ~ voucher + area"]
    assert read_toml(study, StudyError)["moments"]["formulas"] == formulas
    page.step(4)
    page.set("f-release-delta", "1e-6")
    page.set("f-release-epsilon", "4")
    release(page)
    assert page.unusable(axe) == []
    drawn = "[...document.querySelectorAll('#made figcaption')].map(one => one.textContent)"
    assert "sales by area" in page.js(drawn)
    shown = page.text("#made")
    assert "urban: voucher" in shown
    assert "Value labels: of area, 2 is urban." in shown
