"""The page in a real browser: a newcomer's path, and what goes wrong on the way."""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

import dprct
from dprct.app.desk import Desk, opened
from dprct.disk import read_toml
from dprct.errors import StudyError
from dprct.schema import Column, Schema
from dprct.study.draft import draft

from .conftest import LOUD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Chromium, Served, Window

SAID = "document.getElementById('said').textContent"
WRONG = "document.getElementById('wrong').textContent"


def hidden(name: str) -> str:
    return f"document.getElementById('{name}').hidden"


@pytest.fixture
def page(desk: Desk, serving: Callable[..., Served], chromium: Chromium) -> Window:
    window = chromium.window(serving(desk, 3.0).address)
    window.ready()
    return window


def test_a_newcomer_protects_a_file(page: Window, desk: Desk, survey: Path) -> None:
    """From the header to a verified file, with the names that a screen reader would read out."""
    assert "points are still open" in page.text("#why-not")
    assert page.js("document.getElementById('offer').disabled")
    # many at once: both labelled columns get their codes, a fate and their missing codes
    for name in ("treat", "got"):
        page.js(f"document.querySelector('[aria-label=\"select {name}\"]').click()")
    assert page.text("#selected") == "2"
    page.click("#bulk-labels")
    page.until(f"{SAID}.includes('2 columns are saved as levels')")
    for fact, value in (("fate", "modelled"), ("missing", "never")):
        page.js(f"document.getElementById('bulk-fact').value = '{fact}'")
        page.js(f"document.getElementById('bulk-value').value = '{value}'")
        page.click("#bulk-set")
        page.until(f"{SAID} === '{fact} of 2 columns is saved.'")
    assert desk.study().columns["treat"] == {
        "levels": [0, 1], "missing": "never", "fate": "modelled",
    }  # fmt: skip
    # bad input is said where it was typed, and is not saved
    page.fill("bounds of age", "80, 15")
    page.until(f"{WRONG}.includes('bounds')")
    bounds = "document.querySelector('[aria-label=\"bounds of age\"]')"
    page.until(f"{bounds}.getAttribute('aria-invalid') === 'true'")
    page.js("load()")  # as when another window has saved something
    assert page.js(f"{bounds}.value") == "80, 15"
    assert "bounds" not in desk.study().columns.get("age", {})
    page.set("bounds of age", "15 to 80")
    page.set("bins of age", "30, 50")
    page.set("missing of age", "never")
    page.set("fate of age", "modelled")
    page.set("fate of income", "withheld")
    # a mistake is undone by a key
    page.set("fate of income", "drop")
    page.js("document.activeElement.blur()")
    page.key("z", 90, modifiers=2)
    page.until(f"{SAID}.includes('undone')")
    assert desk.study().columns["income"]["fate"] == "withheld"
    page.js(
        "(() => { const one = document.querySelector('[aria-label=\"confirm in [header]\"]');"
        "one.value = 'true'; })()"
    )
    page.click('[aria-label="save [header]"]')
    page.until("document.getElementById('open-head').textContent === 'Open points (0)'")
    # the plan is a curve, with its numbers next to it
    page.until("document.querySelector('#curves svg path.noise')")
    assert "K " in page.text("#plan-text")
    page.until("document.getElementById('curves').dataset.complete")
    assert page.js("document.querySelectorAll('#curves table tr').length") == 8
    page.click("#offer")
    page.until(f"!{hidden('offered')}")
    assert "This charges epsilon=1" in page.text("#offered-words")
    assert len(page.text("#hash")) == 64
    assert page.js("document.getElementById('take').disabled")
    assert not survey.with_name("survey_protected.dta").exists()
    page.click("#confirm")
    page.click("#take")
    page.until(f"!{hidden('made')}")
    assert "survey_protected.dta" in page.text("#files")
    assert "epsilon" in page.text("#certificate")
    page.until("document.querySelector('#spent svg rect.spent')")
    protected, schema = dprct.read_dta(survey.with_name("survey_protected.dta"))
    assert len(protected) == 2000
    assert protected["income"].isna().all()
    assert schema.column("got").label == LOUD
    own = page.js("location.origin")
    assert {address.startswith(f"{own}/") for address in page.requests()} <= {True}
    assert len(page.requests()) > 20
    # the browser itself notes that the bad bounds were refused, and nothing else
    assert [one for one in page.complaints() if "status of 422" not in one] == []
    assert len(page.complaints()) == 1


def test_labels_are_text_and_nothing_else(page: Window) -> None:
    assert LOUD in page.text("#rows")
    assert "<h1>a survey</h1>" in page.text("#source")
    assert "<i>yes</i>" in page.text("#rows")
    assert (
        page.js("document.querySelectorAll('#rows script, #rows img, #rows i, #rows b').length")
        == 0
    )
    assert page.js("document.body.dataset.hacked === undefined")


def test_two_windows_see_the_same_study(
    desk: Desk, serving: Callable[..., Served], chromium: Chromium
) -> None:
    served = serving(desk, 3.0)
    one, other = chromium.window(served.address), chromium.window(served.address)
    one.ready()
    other.ready()
    one.set("fate of age", "filler")
    other.until("document.querySelector('[aria-label=\"fate of age\"]').value === 'filler'")
    # what an editor saved meanwhile is not overwritten: the change has to be made again
    text = desk.path.read_text("utf-8").replace('fate = "filler"', 'fate = "withheld"')
    desk.path.write_text(text, "utf-8")
    other.fill("role of age", "covariate")
    other.until(f"{WRONG}.includes('changed elsewhere')")
    other.until("document.querySelector('[aria-label=\"fate of age\"]').value === 'withheld'")
    other.set("role of age", "covariate")
    one.until("document.querySelector('[aria-label=\"role of age\"]').value === 'covariate'")
    assert desk.study().columns["age"] == {"fate": "withheld", "role": "covariate"}
    other.close()
    one.set("role of age", "")
    assert served.thread.is_alive()


def test_a_reload_keeps_everything_and_closing_ends_the_server(
    desk: Desk, serving: Callable[..., Served], chromium: Chromium
) -> None:
    served = serving(desk, 3.0)
    window = chromium.window(served.address)
    window.ready()
    window.set("fate of age", "filler")
    window.js("delete document.body.dataset.revision")
    window.browser.call("Page.reload", window.session)
    window.ready()
    assert window.js("document.querySelector('[aria-label=\"fate of age\"]').value") == "filler"
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
    served = serving(desk, 3.0)
    window = chromium.window(served.address)
    window.ready()
    window.set("fate of age", "filler")
    monkeypatch.setattr(server.Windows, "ended", lambda *_: True)
    served.thread.join(60)
    window.until(f"!{hidden('gone')}")
    window.fill("fate of age", "drop")
    window.until(f"{WRONG}.includes('does not answer')")
    assert desk.study().columns["age"] == {"fate": "filler"}


def test_rare_facts_bins_and_verdicts(page: Window, desk: Desk) -> None:
    """The rarer facts in a dialog; K after each change; a verdict for each regression."""
    page.click('[aria-label="more facts of age"]')
    page.until("document.getElementById('more').open")
    page.set("integer of age", "true")
    page.fill("decimals of age", "many")
    page.until("document.getElementById('more-wrong').textContent.includes('decimals')")
    page.click("#more-close")
    assert desk.study().columns["age"] == {"integer": True}
    page.until("document.getElementById('rows').textContent.includes('integer true')")
    for fact, value in (("bounds", "15, 80"), ("missing", "never"), ("bins", "5")):
        page.set(f"{fact} of age", value)
    page.set("fate of age", "modelled")
    page.until("!document.getElementById('sizes').hidden")
    page.until("document.getElementById('sizes-words').textContent.includes('K = 5 ')")
    page.set("bins of age", "65")
    page.until("document.getElementById('sizes-words').textContent.includes('K = 65 ')")
    trail = page.text("#sizes-trail")
    assert "age bins = 65" in trail
    assert "age fate = modelled" in trail
    assert "Name do-files" in page.text("#worth")
    do = desk.path.with_name("tables.do")
    do.write_text('use "survey.dta", clear\n* Table <b>1</b>\nreg income age, robust\n')
    page.js(
        "(() => { document.querySelector('[aria-label=\"do in [package]\"]').value = 'tables.do';"
        "})()"
    )
    page.click('[aria-label="save [package]"]')
    page.until("document.getElementById('worth').textContent.includes('tables.do:3')")
    assert "artefact" in page.text("#worth")
    page.set("fate of income", "withheld")
    page.until("document.getElementById('worth').textContent.includes('cannot run')")
    assert page.js("document.querySelectorAll('#worth b').length") == 0


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
    served = serving(desk, 3.0)
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
    served = serving(desk, 3.0)
    window = chromium.window("about:blank")
    window.go(f"{served.origin}/")
    window.until("location.href.startsWith('http') || location.href.startsWith('chrome-error')")
    assert "survey" not in window.js("document.documentElement.innerText")


def test_the_keyboard_is_enough(page: Window, desk: Desk) -> None:
    """Tab leads from field to field, typing and Tab saves, and every field has a name."""
    page.js("document.querySelector('[aria-label=\"levels of age\"]').focus()")
    page.key("Tab", 9)
    assert page.js("document.activeElement.getAttribute('aria-label')") == "bounds of age"
    page.write("15, 80")
    page.key("Tab", 9)
    page.until(f"{SAID}.includes('bounds of age is saved')")
    assert page.js("document.activeElement.getAttribute('aria-label')") == "bins of age"
    assert desk.study().columns["age"]["bounds"] == [15, 80]
    unnamed = page.js(
        "[...document.querySelectorAll('input, select, button, progress')].filter(one => "
        "!(one.getAttribute('aria-label') || one.textContent.trim() || (one.labels || []).length))"
        ".map(one => one.id)"
    )
    assert unnamed == []


def test_it_fits_a_narrow_window(page: Window) -> None:
    page.browser.call(
        "Emulation.setDeviceMetricsOverride", page.session, width=360, height=700,
        deviceScaleFactor=1, mobile=False,
    )  # fmt: skip
    wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.js(wider) <= 0
    page.js("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert page.js(wider) <= 0


def test_four_hundred_columns_are_searched_and_set(
    tmp_path: Path, serving: Callable[..., Served], chromium: Chromium
) -> None:
    names = [f"inc_{i}" for i in range(200)] + [f"q{i}" for i in range(200)]
    schema = Schema(tuple(Column(name, "byte", "%8.0g", f"question {name}") for name in names))
    import pandas as pd

    path = tmp_path / "wide.dta"
    dprct.write_dta(pd.DataFrame({name: [0.0, 1.0] for name in names}), schema, path)
    desk = opened(path, None)
    assert desk.path.read_text("utf-8") == draft(Schema.from_dta(path), path, desk.path)
    window = chromium.window(serving(desk, 3.0).address)
    window.ready()
    window.js(
        "(() => { const one = document.getElementById('search'); one.value = 'inc_1*';"
        "one.dispatchEvent(new Event('input')); })()"
    )
    assert window.text("#count") == "111 of 400 columns are shown"
    window.click("#select-shown")
    window.js("document.getElementById('bulk-fact').value = 'fate'")
    window.js("document.getElementById('bulk-value').value = 'drop'")
    window.click("#bulk-set")
    window.until(f"{SAID} === 'fate of 111 columns is saved.'")
    columns = read_toml(desk.path, StudyError)["columns"]
    assert [name for name in columns if columns[name].get("fate") == "drop"] == [
        name for name in names if name.startswith("inc_1")
    ]


def test_the_port_is_free_again(desk: Desk, serving: Callable[..., Served]) -> None:
    served = serving(desk, 0.5)
    served.close()
    with socket.socket() as again, pytest.raises(OSError, match=r".*"):
        again.connect(("127.0.0.1", served.port))
