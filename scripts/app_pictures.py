"""Draw the page for docs/app.md and README.md: each step, in Chromium, of a made-up trial.

Usage: python scripts/app_pictures.py
"""

from __future__ import annotations

import base64
import importlib.util
import queue
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dprct
from dprct.app.desk import opened
from dprct.app.server import serve
from dprct.schema import Column, FileFacts, Schema

HERE = Path(__file__).resolve().parents[1]
DOCS = HERE / "docs"
WIDE, NARROW = (1366, 768), (390, 844)
"""Width and height of the window."""


def trial(folder: Path) -> Path:
    """A made-up experiment within sites."""
    rng = np.random.default_rng(8)
    n = 2000
    data = pd.DataFrame(
        {
            "id": np.arange(n) + 1.0,
            "cash": np.tile([0.0, 1.0], n // 2),
            "site": np.repeat([1.0, 2.0, 3.0, 4.0], n // 4),
            "income": rng.gamma(2, 8, n).clip(0, 40),
            "age": rng.integers(18, 65, n).astype(float),
            "works": rng.integers(0, 2, n).astype(float),
        }
    )
    said = {
        "id": "Person", "cash": "Drew a cash grant", "site": "Site", "income": "Income last month",
        "age": "Age", "works": "Works",
    }  # fmt: skip
    columns = tuple(
        Column(name, "double", "%9.0g", label, "yesno" if name in ("cash", "works") else "")
        for name, label in said.items()
    )
    labels = {"yesno": {0: "no", 1: "yes"}}
    path = folder / "trial.dta"
    dprct.write_dta(data, Schema(columns, FileFacts(value_labels=labels)), path)
    return path


def browsers() -> Any:
    """The module of the tests that drives a browser."""
    place = HERE / "tests" / "app" / "conftest.py"
    spec = importlib.util.spec_from_file_location("browsers", place)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules["browsers"] = made
    spec.loader.exec_module(made)
    return made


def picture(page: Any, name: str, size: tuple[int, int] = WIDE) -> None:
    """Write docs/app_NAME.png of what a window of this size shows."""
    page.browser.call(
        "Emulation.setDeviceMetricsOverride", page.session, width=size[0], height=size[1],
        deviceScaleFactor=1, mobile=False,
    )  # fmt: skip
    time.sleep(0.5)
    shot = page.browser.call("Page.captureScreenshot", page.session, format="png")
    (DOCS / f"app_{name}.png").write_bytes(base64.b64decode(shot["data"]))


def walk(page: Any) -> None:
    """Fill in the study and release it, with a picture of each step."""
    page.press("#family-experiment")
    picture(page, "1")
    page.step(2)
    page.roles(income="outcome", cash="treatment", site="block", age="covariate")
    picture(page, "narrow", NARROW)
    picture(page, "2")
    for name, typed in (("income-bounds", "0, 40"), ("income-sd", "11"), ("age-bounds", "18, 65")):
        page.set(f"f-columns-{name}", typed)
    page.set("f-columns-cash-levels", "0, 1")
    for selector in ("#leave-out", "#never-missing", "#f-header-confirm"):
        page.press(selector)
    page.step(3)
    picture(page, "3")
    page.step(4)
    page.set("f-release-epsilon", "0.5")
    picture(page, "4")
    page.step(5)
    page.until("document.getElementById('ahead').dataset.complete")
    picture(page, "5")
    page.step(6)
    page.until("document.getElementById('offer') && !document.getElementById('offer').disabled")
    page.click("#offer")
    page.until("document.getElementById('modal').open")
    page.click("#confirm")
    page.click("#take")
    page.until("!document.getElementById('made').hidden")
    page.until("document.querySelector('#spent svg rect.spent')")
    picture(page, "6")


def main() -> None:
    """Serve a study, and look at it."""
    drive = browsers()
    said: queue.Queue[str] = queue.Queue()
    with tempfile.TemporaryDirectory() as folder:
        (study := Path(folder) / "study").mkdir()
        desk = opened(trial(study), None)
        options = {"browser": False, "announce": said.put, "grace": 1.0}
        server = threading.Thread(target=serve, args=(desk, 0), kwargs=options)
        server.start()
        browser = drive.Chromium("chromium", Path(folder) / "profile")
        try:
            page = browser.window(said.get(timeout=60))
            page.ready()
            walk(page)
        finally:
            for window in browser.windows:
                window.close()
            browser.close()
            server.join()


if __name__ == "__main__":
    main()
