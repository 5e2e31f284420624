"""The page of a study on 127.0.0.1: what it answers, and when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import tempfile
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable, Mapping
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dprct.app.desk import Desk, StaleError
from dprct.app.guard import HEADERS, Guard
from dprct.app.reading import page_of
from dprct.certificate.page import style_source
from dprct.errors import DprctError, FileError, MissingDependencyError, defect

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

HOST = "127.0.0.1"
GRACE = 8.0
"""Seconds without a window after which the server ends: a page that is reloaded is back by then."""

_MODULES = (
    "app.js", "columns.js", "dom.js", "forms.js", "lead.js", "outlook.js", "pictures.js",
    "release.js", "study.js",
)  # fmt: skip
FILES = {
    "": ("index.html", "text/html"),
    "app.css": ("app.css", "text/css"),
    **{name: (name, "text/javascript") for name in _MODULES},
}
_BEAT = 0.25
POLICY = "content-security-policy"
CERTIFICATE_POLICY = (
    f"default-src 'none'; style-src '{style_source()}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Of a certificate, which brings the style of our own certificates and nothing else."""


class Windows:
    """The open windows of the page; each is told when something has changed.

    Parameters
    ----------
    grace : float
        Seconds for which there may be no window, once there was one.
    """

    def __init__(self, grace: float = GRACE) -> None:
        self.grace = grace
        self.busy = 0
        self.over = False
        self._open = 0
        self._left: float | None = None
        self._changes = 0

    def changed(self) -> None:
        """Tell every window to look again."""
        self._changes += 1

    def ended(self, now: float) -> bool:
        """Whether the last window was closed long enough ago, and nothing is being done."""
        waiting = self._left is not None and now - self._left > self.grace
        return waiting and not self._open and not self.busy

    async def events(self) -> AsyncIterator[str]:
        """Yield a line for each change, as long as the window is open."""
        loop = asyncio.get_running_loop()
        self._open += 1
        seen = self._changes
        try:
            yield "retry: 500\n\ndata: open\n\n"
            while not self.over:
                await asyncio.sleep(_BEAT)
                if seen != self._changes:
                    seen = self._changes
                    yield "data: changed\n\n"
        finally:
            self._open -= 1
            self._left = loop.time()


def application(desk: Desk, guard: Guard, windows: Windows) -> ASGIApp:
    """Return the application that serves a desk to whom the guard lets pass."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route

    base = f"/{guard.token}"

    def file(name: str, kind: str) -> Callable[[Request], Response]:
        def answer(_request: Request) -> Response:
            page = resources.files("dprct.app").joinpath("page", name)
            return Response(page.read_text("utf-8"), media_type=kind)

        return answer

    def reading(_request: Request) -> Response:
        return Response(page_of("choosing_bounds"), media_type="text/html")

    def released(request: Request) -> Response:
        name = request.path_params["name"]
        try:
            content = desk.released_file(name)
        except (DprctError, OSError):
            return Response(status_code=404)
        if name.endswith(".html"):
            headers = {POLICY: CERTIFICATE_POLICY}
            return Response(content, media_type="text/html", headers=headers)
        saved = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
        return Response(content, media_type="application/octet-stream", headers=saved)

    async def events(_request: Request) -> Response:
        return StreamingResponse(windows.events(), media_type="text/event-stream")

    def asked(deed: Callable[[Mapping[str, Any]], Any]) -> Callable[[Request], Any]:
        """Return an answer in JSON; a refusal of the package is one sentence."""

        async def answer(request: Request) -> Response:
            try:
                given = await request.json()
                if not isinstance(given, dict):
                    raise ValueError
            except ValueError:
                return JSONResponse({"error": "the request is no JSON object"}, 400)
            windows.busy += 1
            try:
                return JSONResponse(await run_in_threadpool(deed, given))
            except StaleError as error:
                return JSONResponse({"error": str(error), "stale": True}, 409)
            except DprctError as error:
                return JSONResponse(desk.refusal(error), 422)
            except OSError as error:
                reason = error.strerror or type(error).__name__
                return JSONResponse({"error": f"{reason}; correct that and try again"}, 422)
            except Exception as error:
                return JSONResponse({"error": defect(error)}, 500)
            finally:
                windows.busy -= 1

        return answer

    def changing(deed: Callable[[Mapping[str, Any]], None]) -> Callable[[Mapping[str, Any]], Any]:
        """Tell every window that the study has changed, and answer with all that it is now."""

        def answer(given: Mapping[str, Any]) -> Any:
            deed(given)
            windows.changed()
            return desk.state()

        return answer

    def working(deed: Callable[[Mapping[str, Any]], Any]) -> Callable[[Mapping[str, Any]], Any]:
        """Tell every window when work begins and when it has ended, well or not."""

        def answer(given: Mapping[str, Any]) -> Any:
            windows.changed()
            try:
                return deed(given)
            finally:
                windows.changed()

        return answer

    deeds: dict[str, Callable[[Mapping[str, Any]], Any]] = {
        "state": lambda _: desk.state(),
        "edit": changing(lambda given: desk.edit(_text(given, "revision"), _changes(given))),
        "write": changing(lambda given: desk.write(_text(given, "revision"), _text(given, "text"))),
        "undo": changing(lambda given: desk.undo(_text(given, "revision"))),
        "take_do_files": changing(lambda given: desk.take_do_files(_text(given, "revision"))),
        "make_folder": changing(lambda given: desk.make_folder(_text(given, "revision"))),
        "withdraw": changing(lambda _: desk.withdraw()),
        "plan": lambda given: {"plan": desk.plan(_clusters(given))},
        "sizes": lambda _: {"sizes": desk.sizes()},
        "verdicts": lambda _: desk.verdicts(),
        "outlook": lambda given: desk.outlook(_epsilon(given), _clusters(given)),
        "offer": working(
            lambda given: desk.offer(
                _text(given, "revision"),
                accept_no_guarantee=given.get("accept_no_guarantee") is True,
            )
        ),
        "take": working(lambda given: _finished(lambda: desk.take(_text(given, "sha256")))),
        "resume": working(lambda given: _finished(lambda: desk.resume(_text(given, "entry")))),
        "after": working(lambda given: desk.after(_text(given, "deed"))),
        "result": lambda _: {"result": desk.result()},
    }
    routes = [Route(f"{base}/{path}", file(*found)) for path, found in FILES.items()]
    routes += [Route(f"{base}/reading/choosing_bounds", reading), Route(f"{base}/events", events)]
    routes.append(Route(f"{base}/released/{{name}}", released))
    routes += [
        Route(f"{base}/do/{name}", asked(deed), methods=["POST"]) for name, deed in deeds.items()
    ]
    return _Guarded(Starlette(routes=routes), guard)


class _Guarded:
    """An application behind a guard; every answer has the headers that keep it in this window."""

    def __init__(self, inner: Starlette, guard: Guard) -> None:
        self.inner, self.guard = inner, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.inner(scope, receive, send)
            return

        async def answer(message: Any) -> None:
            if message["type"] == "http.response.start":
                there = [*message.get("headers", [])]
                said = {name for name, _ in there}
                own = [(name.lower().encode(), text.encode()) for name, text in HEADERS.items()]
                there += [(name, text) for name, text in own if name not in said]
                message = {**message, "headers": there}
            await send(message)

        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        raw = [(name.decode("latin-1"), text.decode("latin-1")) for name, text in scope["headers"]]
        headers = dict(raw)
        status = self.guard.refused(scope["method"], scope["path"], headers)
        if [name for name, _ in raw].count("host") != 1:
            status = 421
        if status is not None:
            await answer({"type": "http.response.start", "status": status, "headers": []})
            await answer({"type": "http.response.body", "body": b""})
            return
        await self.inner(scope, receive, answer)


def _text(given: Mapping[str, Any], name: str) -> str:
    return str(given.get(name))


def _epsilon(given: Mapping[str, Any]) -> float:
    epsilon = given.get("epsilon")
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float)):
        raise FileError("epsilon is not a number; reload the page")
    return epsilon


def _clusters(given: Mapping[str, Any]) -> int | None:
    found = given.get("clusters")
    if found is not None and (isinstance(found, bool) or not isinstance(found, int) or found < 1):
        raise FileError("the number of clusters is not a whole number; reload the page")
    return found


def _changes(given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    changes = given.get("changes")
    if not isinstance(changes, list) or not all(isinstance(one, dict) for one in changes):
        raise FileError("changes is not a list of changes; reload the page")
    return changes


def _finished(deed: Callable[[], Any]) -> Any:
    """Do what must not stop halfway in a thread for which the process waits, even on Ctrl-C."""
    found: list[Any] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(deed())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="dprct protect", daemon=False)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]


def bound(port: int) -> socket.socket:
    """Return a socket on this machine's own address; 0 takes any port that is free."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.bind((HOST, port))
    except (OSError, OverflowError):
        made.close()
        raise FileError(
            f"port {port} is taken by another program or not allowed; give another one, or "
            "--port 0 for any that is free"
        ) from None
    return made


def require() -> None:
    """Refuse to go on without the packages of the extra."""
    try:
        import starlette
        import uvicorn  # noqa: F401
    except ModuleNotFoundError:
        raise MissingDependencyError.extra("starlette and uvicorn", "app", "dprct app") from None
    del starlette


def serve(
    desk: Desk,
    port: int,
    *,
    browser: bool,
    announce: Callable[[str], None],
    grace: float = GRACE,
) -> None:
    """Serve a desk until its last window is closed, or the process is interrupted.

    Port 0 takes any free one.  ``announce`` is called with the address once it answers.  ``grace``
    is for how many seconds no window need be open.
    """
    import uvicorn

    with contextlib.closing(bound(port)) as door, contextlib.ExitStack() as ending:
        guard = Guard(door.getsockname()[1])
        windows = Windows(grace)
        config = uvicorn.Config(
            application(desk, guard, windows), log_level="critical", access_log=False,
            lifespan="off", ws="none", server_header=False, timeout_graceful_shutdown=600,
        )  # fmt: skip
        server = uvicorn.Server(config)

        async def run() -> None:
            watching = asyncio.create_task(_watch(server, windows))
            await server.serve([door])
            watching.cancel()

        door.listen()
        announce(guard.address)
        if browser:
            folder = ending.enter_context(tempfile.TemporaryDirectory())
            _open_browser(guard.address, Path(folder))
        asyncio.run(run())


async def _watch(server: Any, windows: Windows) -> None:
    """End the streams when the server ends, and the server when the last window is closed."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(_BEAT)
        if windows.ended(loop.time()):
            server.should_exit = True
        if server.should_exit:
            windows.over = True


def _open_browser(address: str, folder: Path) -> None:
    """Open the page by way of a file that only its user may read.

    The address of a browser's command line could be read by every user of the machine.
    """
    place = folder / "dprct.html"
    place.touch(mode=0o600)
    words = json.dumps(address)
    place.write_text(
        f'<!DOCTYPE html><meta charset="utf-8"><title>dprct</title>'
        f'<meta http-equiv="refresh" content="0; url={escape(address)}">'
        f"<script>location.replace({words})</script>",
        "utf-8",
    )
    webbrowser.open(place.as_uri())
