from __future__ import annotations

import pytest

from dprct.app.guard import HEADERS, MOST_BYTES, Guard

GUARD = Guard(8000, "secret")
HOST = {"host": "127.0.0.1:8000"}
POST = {
    **HOST,
    "origin": "http://127.0.0.1:8000",
    "content-type": "application/json",
    "content-length": "2",
}


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000"])
def test_the_page_itself_is_answered(host: str) -> None:
    assert GUARD.refused("GET", "/secret/", {"host": host}) is None
    post = {**POST, "host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}
    assert GUARD.refused("POST", "/secret/do/edit", post) is None


@pytest.mark.parametrize(
    ("method", "path", "change", "status"),
    [
        ("GET", "/", {}, 404),
        ("GET", "/secre/", {}, 404),
        ("GET", "/secrets/", {}, 404),
        ("GET", "/?secret", {}, 404),
        ("GET", "secret", {}, 404),
        ("GET", "/é/", {}, 404),
        ("GET", "/secret/", {"host": "evil.example"}, 421),
        ("GET", "/secret/", {"host": "evil.example:8000"}, 421),
        ("GET", "/secret/", {"host": "127.0.0.1:8001"}, 421),
        ("GET", "/secret/", {"host": ""}, 421),
        ("GET", "/secret/", {"origin": "http://evil.example"}, 403),
        ("GET", "/secret/", {"origin": "null"}, 403),
        ("GET", "/secret/", {"sec-fetch-site": "cross-site"}, 403),
        ("GET", "/secret/", {"sec-fetch-site": "same-site"}, 403),
        ("PUT", "/secret/", {}, 405),
        ("OPTIONS", "/secret/do/edit", {}, 405),
        ("POST", "/secret/do/edit", {"origin": None}, 403),
        ("POST", "/secret/do/edit", {"origin": "http://localhost:8000"}, 403),
        ("POST", "/secret/do/edit", {"content-type": "text/plain"}, 415),
        ("POST", "/secret/do/edit", {"content-type": "application/x-www-form-urlencoded"}, 415),
        ("POST", "/secret/do/edit", {"content-length": None}, 413),
        ("POST", "/secret/do/edit", {"content-length": str(MOST_BYTES + 1)}, 413),
        ("POST", "/secret/do/edit", {"content-length": "²"}, 413),
    ],
)
def test_anybody_else_is_refused(
    method: str, path: str, change: dict[str, str | None], status: int
) -> None:
    sent = {**(POST if method == "POST" else HOST), **change}
    headers = {name: text for name, text in sent.items() if text is not None}
    assert GUARD.refused(method, path, headers) == status


def test_tokens_cannot_be_guessed_and_are_not_shown() -> None:
    one, other = Guard(1), Guard(1)
    assert one.token != other.token
    assert len(one.token) >= 43  # 256 bits in base 64
    assert one.token not in repr(one)
    assert one.token in one.address


def test_nothing_may_be_loaded_from_elsewhere() -> None:
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
