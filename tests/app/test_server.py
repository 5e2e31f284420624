from __future__ import annotations

import builtins
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from dprct.app.guard import HEADERS
from dprct.cli import main

pytest.importorskip("uvicorn", reason="needs the extra dprct[app]")
from dprct.app.server import FILES, Windows, bound

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dprct.app.desk import Desk

    from .conftest import Served

Serving = "Callable[..., Served]"


def test_it_answers_its_page_and_nobody_else(desk: Desk, serving: Callable[..., Served]) -> None:
    """Over the wire: what the guard says is what happens, and a refusal says nothing."""
    served = serving(desk)
    status, body, headers = served.ask("GET", served.base)
    assert (status, b"<h1" in body) == (200, True)
    assert {name: headers[name.lower()] for name in HEADERS} == dict(HEADERS)
    for path in ("", "app.js", "app.css", "pictures.js", "reading/choosing_bounds"):
        assert served.ask("GET", served.base + path)[0] == 200
    state = f"{served.base}do/state"
    assert served.ask("POST", state, {})[0] == 200
    for status, answer in {
        404: served.ask("GET", "/"),
        403: served.ask("POST", state, {}, origin="http://evil.example"),
        421: served.ask("POST", state, {}, host=f"evil.example:{served.port}"),
        415: served.ask("POST", state, {}, content_type="text/plain"),
        405: served.ask("OPTIONS", state, {}),
    }.items():
        assert answer[:2] == (status, b"")
    assert served.ask("POST", "/do/state", {})[:2] == (404, b"")
    assert served.ask("POST", state, {}, origin=None)[0] == 403
    assert served.ask("GET", f"{served.base}../../pyproject.toml")[0] == 404
    assert served.ask("GET", f"{served.base}page/index.html")[0] == 404
    assert served.ask("GET", f"{served.base}do/state")[0] == 405


def test_requests_that_make_no_sense_are_answered(
    desk: Desk, serving: Callable[..., Served]
) -> None:
    served = serving(desk)
    before = desk.path.read_bytes()
    state = served.do("state")
    for given in (
        {},
        {"revision": state["revision"]},
        {"revision": state["revision"], "changes": "all"},
        {"revision": state["revision"], "changes": [1]},
        {"revision": state["revision"], "changes": [{}]},
        {"revision": state["revision"], "changes": [{"at": [], "typed": "x"}]},
        {"revision": state["revision"], "changes": [{"at": ["columns", {}, 3], "typed": "x"}]},
    ):
        assert "error" in served.do("edit", **given)
    assert served.ask("POST", f"{served.base}do/state", ["x"])[0] == 400
    assert "error" in served.do("outlook", epsilon="x")
    assert "epsilon" in served.do("outlook", epsilon=-1)["refused"]
    assert "TOML" in served.do("write", revision=state["revision"], text="data = [")["error"]
    assert "error" in served.do("resume", entry="1")
    assert served.ask("GET", f"{served.base}released/survey.dta")[0] == 404
    assert "error" in served.do("take", sha256=None)
    assert desk.path.read_bytes() == before


def test_a_window_that_is_behind_is_told(desk: Desk, serving: Callable[..., Served]) -> None:
    served = serving(desk)
    old = served.do("state")["revision"]
    change = [{"at": ["columns", "age", "fate"], "typed": "drop"}]
    assert served.do("edit", revision=old, changes=change)["revision"] != old
    assert served.do("edit", revision=old, changes=change)["stale"] is True


def test_a_defect_shows_no_value(
    desk: Desk, serving: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise RuntimeError("Aurelia-Quint is 47")

    monkeypatch.setattr(desk, "state", broken)
    said = serving(desk).do("state")["error"]
    assert re.search(r"a defect of dprct: RuntimeError in \S*test_server\.broken, line \d+;", said)
    assert "Aurelia" not in said


def test_it_listens_on_this_machine_alone(desk: Desk, serving: Callable[..., Served]) -> None:
    served = serving(desk)
    with bound(0) as own:
        assert own.getsockname()[0] == "127.0.0.1"
    for address in {found[4][0] for found in socket.getaddrinfo(socket.gethostname(), None)}:
        if str(address).startswith("127.") or ":" in str(address):
            continue
        with (
            pytest.raises(OSError, match=r".*"),
            socket.create_connection((str(address), served.port), 2),
        ):
            pass


def test_it_ends_with_its_last_window_and_not_with_a_reload(
    desk: Desk, serving: Callable[..., Served]
) -> None:
    served = serving(desk, 0.5)
    served.close()
    assert not served.thread.is_alive()


def test_no_window_no_end_and_work_is_waited_for() -> None:
    windows = Windows(grace=5)
    assert not windows.ended(1e9)  # nobody has come yet
    windows._left = 10.0
    assert not windows.ended(14.0)
    assert windows.ended(15.5)
    windows.busy = 1
    assert not windows.ended(15.5)


def test_a_busy_port_is_said(survey: Path, command_line: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ran = command_line(main)("app", survey, "--no-browser", "--port", taken.getsockname()[1])
    assert ran.code == 2
    assert "--port 0" in ran.err
    assert ran.out == ""


def test_without_the_extra_it_says_how_to_get_it(
    survey: Path, command_line: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = builtins.__import__

    def refusing(name: str, *rest: Any, **options: Any) -> Any:
        if name in ("starlette", "uvicorn"):
            raise ModuleNotFoundError(name)
        return original(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", refusing)
    ran = command_line(main)("app", survey, "--no-browser")
    assert ran.code == 2
    assert "pip install 'dprct[app]'" in ran.err
    assert not survey.with_suffix(".toml").exists()


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_a_process_prints_one_address_and_ends_when_asked(
    survey: Path, checkout: Path, number: int, code: int
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "dprct", "app", str(survey), "--no-browser"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=checkout,
        # where R was loaded in this process before, its libraries come before Python's own
        env={k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"},
    )  # fmt: skip
    ending = threading.Timer(120, process.kill)
    ending.start()
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("http://127.0.0.1:"), process.communicate()[1]
    with socket.create_connection(("127.0.0.1", int(line.split(":")[2].split("/")[0]))) as wire:
        wire.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert wire.recv(100).startswith(b"HTTP/1.1 421")
    process.send_signal(number)
    out, err = process.communicate()
    ending.cancel()
    assert process.returncode == code, err
    assert out == ""
    assert "Traceback" not in err
    assert survey.with_suffix(".toml").exists()


def test_the_page_asks_for_nothing_elsewhere(checkout: Path) -> None:
    page = checkout / "dprct" / "app" / "page"
    files = sorted(page.iterdir())
    assert {file.name for file in files} == {name or "index.html" for name in FILES} | {
        "index.html"
    }
    for file in files:
        text = file.read_text("utf-8").replace('"http://www.w3.org/2000/svg"', "")
        assert "http" not in text
        assert "//" not in text.replace("// ", "")
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert word not in text
    json.dumps([file.name for file in files])
