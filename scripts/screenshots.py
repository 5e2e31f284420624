"""Draw docs/app.png: the page of ``dprct app`` on the demo's study, in Chromium.

Usage: python scripts/screenshots.py [docs/app.png]
"""

from __future__ import annotations

import base64
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]


def browser() -> str:
    """Path of a Chromium, or an end."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    raise SystemExit("no Chromium or Chrome is installed")


def draw(picture: Path) -> None:
    """Serve the demo's study as ``dprct app`` does, and save what the browser shows."""
    # the tests drive a browser by its pipes already
    spec = importlib.util.spec_from_file_location("driven", TOP / "tests" / "app" / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    driven = importlib.util.module_from_spec(spec)
    sys.modules["driven"] = driven
    spec.loader.exec_module(driven)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name in ("thornton_hiv.dta", "thornton.toml"):
            shutil.copy(TOP / "data" / name, folder)
        command = [sys.executable, "-m", "dprct", "app", "thornton_hiv.dta", "--no-browser"]
        command += ["--study", "thornton.toml"]
        app = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
        assert app.stdout is not None
        address = re.search(r"http://\S+", app.stdout.readline())
        assert address is not None
        chromium = driven.Chromium(browser(), folder / "profile")
        window = chromium.window(address[0])
        window.ready()
        time.sleep(2)  # the plan follows the columns
        size = {"width": 1200, "height": 760, "deviceScaleFactor": 1, "mobile": False}
        chromium.call("Emulation.setDeviceMetricsOverride", window.session, **size)
        shot = chromium.call("Page.captureScreenshot", window.session, format="png")
        picture.write_bytes(base64.b64decode(shot["data"]))
        window.close()
        chromium.close()
        app.terminate()
        app.wait(20)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if sys.argv[1:] else TOP / "docs" / "app.png")
