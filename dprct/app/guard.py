"""Who is answered: the user who was given the address, from the page itself, on this machine.

The server listens on 127.0.0.1, where every user of the machine and every page in the user's
browser can knock. What keeps them out:

- a random token is the first part of every path, so that who does not know the address gets an
  empty refusal, whatever is asked;
- the ``Host`` header must name this server, so that a foreign name that was pointed at 127.0.0.1
  (DNS rebinding) is refused, although the browser takes it for one origin;
- a request that a browser says to come from another site (``Origin``, ``Sec-Fetch-Site``) is
  refused, and what changes something must say its origin and be JSON, which no form can send.

There is no cookie: one would be sent to whatever listens on another port of this machine.
"""

from __future__ import annotations

import secrets
from dataclasses import field
from typing import TYPE_CHECKING

from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_BYTES = 4 * 2**20
"""Of a request: a change of thirty thousand columns at once."""

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""On every answer: nothing is loaded from elsewhere, framed, kept or told to others."""


@dataclass(frozen=True)
class Guard:
    """The rules of one server."""

    port: int
    # Drawn by the operating system's source.
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def hosts(self) -> tuple[str, ...]:
        """What a browser on this machine may call the server."""
        return (f"127.0.0.1:{self.port}", f"localhost:{self.port}")

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{self.hosts[0]}/{self.token}/"

    def refused(self, method: str, path: str, headers: Mapping[str, str]) -> int | None:
        """Status with which a request is refused; None if it is answered.

        Names of headers are in lower case.

        Examples
        --------
        >>> guard = Guard(8000, "token")
        >>> guard.refused("GET", "/token/", {"host": "127.0.0.1:8000"})
        >>> guard.refused("GET", "/", {"host": "127.0.0.1:8000"})
        404
        >>> guard.refused("GET", "/token/", {"host": "evil.example:8000"})
        421
        """
        host = headers.get("host", "")
        if host not in self.hosts:
            return 421
        first = path.split("/")[1] if path.startswith("/") else ""
        if not secrets.compare_digest(first.encode(), self.token.encode()):
            return 404
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return 403
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403
        if method == "GET":
            return None
        if method != "POST":
            return 405
        if origin is None:
            return 403
        if headers.get("content-type", "").split(";")[0].strip() != "application/json":
            return 415
        length = headers.get("content-length", "")
        if not length.isascii() or not length.isdecimal() or int(length) > MOST_BYTES:
            return 413
        return None
