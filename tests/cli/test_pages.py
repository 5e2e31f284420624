"""The pages of the demo and of its plan, as a real browser shows and prints them."""

from __future__ import annotations

import re
import subprocess
from html import escape
from typing import TYPE_CHECKING

import pytest
from matplotlib import image

from dprct.certificate.page import document, paragraphs
from dprct.cli import main

if TYPE_CHECKING:
    from pathlib import Path

PHONE = 360  # pixels
WRAPPER = """<!DOCTYPE html><html><body><iframe id="f" style="width:{width}px;height:900px;border:0"
srcdoc="{page}"></iframe><script>
f.onload = () => {{ const root = f.contentDocument.documentElement;
  document.body.dataset.overflow = root.scrollWidth - root.clientWidth;
  document.body.dataset.height = root.scrollHeight; }};
</script></body></html>"""
WIDE = document("kind", "title", "sub", ['<p style="width:40rem">wide</p>'], "foot")
LOUD = document("kind", "title", "sub", ["<script>alert(1)</script>"], "foot")


class Browser:
    """A browser without a window, in a profile of its own."""

    def __init__(self, program: str, profile: Path) -> None:
        self.program, self.profile = program, profile

    def run(self, page: Path, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--disable-dev-shm-usage", f"--user-data-dir={self.profile}",
             "--enable-logging=stderr", *options, page.as_uri()],
            capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip

    def complaints(self, page: Path, picture: Path) -> list[str]:
        """What the console says while a picture is taken."""
        ran = self.run(page, "--window-size=900,1400", f"--screenshot={picture}")
        return [line for line in ran.stderr.splitlines() if "CONSOLE" in line]

    def pages(self, page: Path, pdf: Path) -> int:
        """How many sheets it prints."""
        self.run(page, "--no-pdf-header-footer", f"--print-to-pdf={pdf}")
        return len(re.findall(rb"/Type\s*/Page\b", pdf.read_bytes()))

    def overflow(self, html: str, folder: Path) -> int:
        """By how many pixels a page is wider than a phone."""
        wrapper = folder / "phone.html"
        wrapper.write_text(WRAPPER.format(width=PHONE, page=escape(html)), encoding="utf-8")
        dom = self.run(wrapper, "--dump-dom").stdout
        height = re.search(r'data-height="(\d+)"', dom)
        found = re.search(r'data-overflow="(-?\d+)"', dom)
        assert found is not None
        assert height is not None
        assert int(height[1]) > 200
        return int(found[1])


@pytest.fixture(scope="module")
def chromium(browser: str, tmp_path_factory: pytest.TempPathFactory) -> Browser:
    return Browser(browser, tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The certificate of the demo, and the page on which its study is planned."""
    folder = tmp_path_factory.mktemp("pages") / "demo"
    plan = folder / "plan.html"
    for arguments in (["demo", folder], ["plan", folder / "thornton.toml", "--html", plan]):
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        assert not ended.value.code
    return {"certificate": folder / "thornton_protected.certificate.html", "plan": plan}


@pytest.mark.parametrize(("name", "most"), [("certificate", 1), ("plan", 2)])
def test_it_prints_on_so_many_sheets(
    chromium: Browser, pages: dict[str, Path], name: str, most: int, tmp_path: Path
) -> None:
    assert 1 <= chromium.pages(pages[name], tmp_path / "page.pdf") <= most


@pytest.mark.parametrize("name", ["certificate", "plan"])
def test_it_shows_text_and_the_console_is_silent(
    chromium: Browser, pages: dict[str, Path], name: str, tmp_path: Path
) -> None:
    assert chromium.complaints(pages[name], tmp_path / "page.png") == []
    picture = image.imread(tmp_path / "page.png")[:, :, :3]
    dark = (picture.max(axis=2) < 0.5).mean()
    assert 0.01 < dark < 0.3
    assert (picture[200:1200] < 0.5).any(axis=(1, 2)).mean() > 0.2  # text all the way down


@pytest.mark.parametrize("name", ["certificate", "plan"])
def test_it_fits_a_phone(
    chromium: Browser, pages: dict[str, Path], name: str, tmp_path: Path
) -> None:
    assert chromium.overflow(pages[name].read_text("utf-8"), tmp_path) == 0


def test_what_is_wide_long_or_loud_would_be_noticed(chromium: Browser, tmp_path: Path) -> None:
    assert chromium.overflow(WIDE, tmp_path) > 0
    (tmp_path / "loud.html").write_text(LOUD, encoding="utf-8")
    (said,) = chromium.complaints(tmp_path / "loud.html", tmp_path / "loud.png")
    assert "Content Security Policy" in said
    long = document("kind", "title", "sub", [paragraphs("words " * 5000)], "foot")
    (tmp_path / "long.html").write_text(long, encoding="utf-8")
    assert chromium.pages(tmp_path / "long.html", tmp_path / "long.pdf") > 1
