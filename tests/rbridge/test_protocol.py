"""What the R package and this one must agree on."""

from __future__ import annotations

from dprct import __version__
from dprct.rbridge import PROTOCOL


def test_both_packages_have_one_version(checkout):
    text = (checkout / "r-wrapper" / "DESCRIPTION").read_text("utf-8")
    assert f"\nVersion: {__version__}\n" in text


def test_both_sides_speak_one_protocol(checkout):
    text = (checkout / "r-wrapper" / "R" / "zzz.R").read_text("utf-8")
    assert f'\nprotocol <- "{PROTOCOL}"\n' in text
