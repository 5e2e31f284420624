"""A study on a page, served as ``dprct app`` serves it, and a browser driven by its pipes."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.app.desk import Desk, opened
from dprct.schema import Column, FileFacts, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LOUD = "<script>document.body.dataset.hacked = 1</script><img src=x onerror=alert(1)>"
LAUNCH = """
import fcntl, os, sys
to_read, to_write = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3])
os.dup2(to_read, 3)
os.dup2(to_write, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
ROOT = Path(__file__).resolve().parents[2]
PATIENCE = float(
    os.environ.get("DPRCT_PATIENCE", "90")
)  # seconds until something that must happen has not happened


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """A .dta file whose labels are HTML."""
    rng = np.random.default_rng(5)
    n = 2000
    data = pd.DataFrame(
        {
            "treat": rng.integers(0, 2, n).astype(float),
            "got": rng.integers(0, 2, n).astype(float),
            "age": rng.integers(15, 80, n).astype(float),
            "income": np.round(rng.gamma(2, 500, n), 2),
        }
    )
    columns = (
        Column("treat", "byte", "%8.0g", "drew a voucher", "yesno"),
        Column("got", "byte", "%8.0g", LOUD, "yesno"),
        Column("age", "int", "%8.0g", "age"),
        Column("income", "double", "%9.0g", "income <b>last</b> year"),
    )
    labels = {"yesno": {0: "no", 1: "<i>yes</i>"}}
    schema = Schema(columns, FileFacts(label="<h1>a survey</h1>", value_labels=labels))
    path = tmp_path / "survey.dta"
    dprct.write_dta(data, schema, path)
    return path


@pytest.fixture
def desk(survey: Path) -> Desk:
    return opened(survey, None)


@dataclass
class Served:
    """A server in a thread of this process."""

    address: str
    thread: threading.Thread

    @property
    def port(self) -> int:
        return int(self.address.split(":")[2].split("/")[0])

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def base(self) -> str:
        return self.address.removeprefix(self.origin)

    def ask(
        self, method: str, path: str, body: object = None, **headers: str | None
    ) -> tuple[int, bytes, dict[str, str]]:
        """Send a request with exactly these headers, over those that the page sends."""
        sent = {"host": f"127.0.0.1:{self.port}"}
        if method == "POST":
            sent |= {"origin": self.origin, "content-type": "application/json"}
        sent |= {name.replace("_", "-"): text for name, text in headers.items()}  # type: ignore[misc]
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        content = json.dumps(body).encode() if method == "POST" else b""
        for name, text in {**sent, "content-length": str(len(content))}.items():
            if text is not None:
                connection.putheader(name, text)
        connection.endheaders(content)
        answer = connection.getresponse()
        found = answer.status, answer.read(), dict(answer.getheaders())
        connection.close()
        return found

    def do(self, name: str, **given: Any) -> dict[str, Any]:
        _, body, _ = self.ask("POST", f"{self.base}do/{name}", given)
        found: dict[str, Any] = json.loads(body)
        return found

    def close(self) -> None:
        """End it as a user does: open a window, and close it."""
        if not self.thread.is_alive():
            return
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", f"{self.base}events")
        answer = connection.getresponse()
        answer.read(3)
        answer.close()
        connection.close()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


@pytest.fixture
def serving() -> Iterator[Callable[..., Served]]:
    """Serve a desk; whatever is still served at the end is closed."""
    pytest.importorskip("uvicorn", reason="needs the extra dprct[app]")
    from dprct.app.server import serve

    started: list[Served] = []

    def start(desk: Desk, grace: float = 0.3) -> Served:
        said: queue.Queue[str] = queue.Queue()
        thread = threading.Thread(
            target=serve,
            args=(desk, 0),
            kwargs={"browser": False, "announce": said.put, "grace": grace},
        )
        thread.start()
        found = Served(said.get(timeout=PATIENCE), thread)
        started.append(found)
        return found

    yield start
    for one in started:
        one.close()


class LeftError(AssertionError):
    """A page was left while it was asked."""


@dataclass
class Chromium:
    """A browser without a window, driven through two pipes by its own protocol."""

    program: str
    profile: Path
    _replies: dict[int, dict[str, Any]] = field(default_factory=dict)
    _number: int = 0

    def __post_init__(self) -> None:
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        options = [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--remote-debugging-pipe", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", f"--user-data-dir={self.profile}",
            "--window-size=1200,900", "about:blank",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(to_read), str(to_write), self.program, *options],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self.events: list[dict[str, Any]] = []
        self.windows: list[Window] = []
        self._arrived = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        rest = b""
        while chunk := os.read(self._from, 65536):
            *whole, rest = (rest + chunk).split(b"\0")
            with self._arrived:
                for message in map(json.loads, whole):
                    if "id" in message:
                        self._replies[message["id"]] = message
                    else:
                        self.events.append(message)
                self._arrived.notify_all()
        os.close(self._from)

    def call(self, method: str, session: str | None = None, **given: Any) -> dict[str, Any]:
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": given}
        if session is not None:
            message["sessionId"] = session
        content = json.dumps(message).encode() + b"\0"
        while content:
            content = content[os.write(self._to, content) :]
        with self._arrived:
            assert self._arrived.wait_for(lambda: number in self._replies, PATIENCE), method
            reply = self._replies.pop(number)
        if "navigated" in str(reply.get("error")):
            raise LeftError
        assert "error" not in reply, (method, reply)
        found: dict[str, Any] = reply["result"]
        return found

    def window(self, address: str) -> Window:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        made = Window(self, target, session)
        self.windows.append(made)
        for domain in ("Network", "Runtime", "Log", "Page"):
            self.call(f"{domain}.enable", session)
        made.go(address)
        return made

    def close(self) -> None:
        os.close(self._to)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(20)


@dataclass
class Window:
    """One tab."""

    browser: Chromium
    target: str
    session: str
    closed: bool = False

    def go(self, address: str) -> None:
        self.browser.call("Page.navigate", self.session, url=address)

    def js(self, code: str) -> Any:
        """Return what an expression is, as JSON."""
        found = self.browser.call(
            "Runtime.evaluate", self.session, expression=code, returnByValue=True,
            awaitPromise=True, userGesture=True,
        )  # fmt: skip
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, code: str) -> Any:
        """Wait until an expression is true."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with contextlib.suppress(AssertionError):  # of a page that is not whole yet
                if found := self.js(f"!!({code})"):
                    return found
            time.sleep(0.1)
        said = self.js("document.body ? document.body.innerText.slice(0, 1500) : ''")
        raise AssertionError(f"never true: {code}\n{said}")

    def reload(self) -> None:
        """Load the page anew, and wait until it is the new one that shows the study."""
        self.js("window.isOld = true")
        self.browser.call("Page.reload", self.session)
        self.until("!window.isOld && document.body && document.body.dataset.revision")

    def ready(self) -> None:
        self.until("document.body && document.body.dataset.revision")

    def fill(self, name: str, value: str) -> None:
        """Type into the field of this name, and leave it."""
        self.until(f"document.getElementById({json.dumps(name)})")
        self.js(
            f"(() => {{ const one = document.getElementById({json.dumps(name)}); "
            f"one.value = {json.dumps(value)}; "
            "one.dispatchEvent(new Event('input', {bubbles: true})); "
            "one.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )

    def set(self, name: str, value: str) -> None:
        """Type, and wait until the page says that it is saved."""
        self.fill(name, value)
        self.settled()

    def roles(self, **of: str) -> None:
        """Give roles to columns."""
        for name, role in of.items():
            self.set(f"role-{name}", role)

    def settled(self) -> None:
        """Wait until everything is saved."""
        self.until("document.getElementById('saving').textContent === 'Everything is saved.'")

    def step(self, number: int) -> None:
        """Go to a step by its address."""
        self.js(f"location.hash = '#step-{number}'")
        self.until(f"!document.getElementById('step-{number}').hidden")

    def press(self, selector: str) -> None:
        """Click, and wait until what follows is saved."""
        self.until(f"document.querySelector({json.dumps(selector)})")
        self.click(selector)
        self.settled()

    def click(self, selector: str) -> None:
        self.js(f"document.querySelector({json.dumps(selector)}).click()")

    def text(self, selector: str) -> str:
        return str(self.js(f"document.querySelector({json.dumps(selector)}).textContent"))

    def key(self, key: str, code: int, modifiers: int = 0) -> None:
        for kind in ("keyDown", "keyUp"):
            self.browser.call(
                "Input.dispatchKeyEvent", self.session, type=kind, key=key, code=key,
                windowsVirtualKeyCode=code, modifiers=modifiers,
            )  # fmt: skip

    def write(self, text: str) -> None:
        self.browser.call("Input.insertText", self.session, text=text)

    def size(self, width: int, height: int = 768) -> None:
        self.browser.call(
            "Emulation.setDeviceMetricsOverride", self.session, width=width, height=height,
            deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def dark(self, on: bool) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if on else "light"}
        self.browser.call("Emulation.setEmulatedMedia", self.session, features=[scheme])

    def unusable(self, axe: Path, rules: str = "") -> list[str]:
        """What axe finds wrong with the page as it stands, by all its rules or by some."""
        if self.js("typeof axe") == "undefined":
            self.js(f"{axe.read_text('utf-8')};0")
        options = json.dumps({"runOnly": rules.split()} if rules else {})
        found: list[str] = self.js(
            f"axe.run(document, {options}).then(found => found.violations.flatMap(one => "
            "one.nodes.map(node => `${one.id}: ${node.html.slice(0, 200)}`)))"
        )
        return found

    def requests(self) -> list[str]:
        """Every address that was asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self.browser.events
            if event.get("method") == "Network.requestWillBeSent"
            and event.get("sessionId") == self.session
        ]

    def complaints(self) -> list[str]:
        """What the console says of this tab."""
        return [
            json.dumps(event["params"])
            for event in self.browser.events
            if event.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")
            and event.get("sessionId") == self.session
        ]

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.browser.call("Target.closeTarget", targetId=self.target)


@pytest.fixture(scope="session")
def axe(browser: str) -> Path:
    """axe-core, by which a browser judges whether everybody can use a page."""
    found = ROOT / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
    if not found.is_file():
        pytest.skip("needs axe-core; see scripts/browser-for-tests")
    return found


@pytest.fixture(scope="module")
def running(browser: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    if os.name == "nt":
        pytest.skip("the pipes to the browser are those of POSIX")
    profile = tmp_path_factory.mktemp("profile")
    made = Chromium(browser, profile)
    yield made
    made.close()
    shutil.rmtree(profile, ignore_errors=True)


@pytest.fixture
def chromium(serving: object, running: Chromium) -> Iterator[Chromium]:
    """The browser; its windows are closed before the servers are, which end with them."""
    yield running
    for window in running.windows:
        window.close()
    running.windows.clear()
