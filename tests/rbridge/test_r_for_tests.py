"""The script that installs R, with an apt-get and an Rscript that only write down what they do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

APT = """#!/bin/sh
echo "$*" >>"{folder}/asked"
case "$*" in *update*)
    if [ ! -e "{folder}/tried" ]; then
        touch "{folder}/tried"
        echo "E: Could not get lock {lock}. It is held by process 1" >&2
        exit 100
    fi
esac
"""


@pytest.mark.skipif(not Path("/etc/debian_version").exists(), reason="needs Debian or Ubuntu")
@pytest.mark.parametrize(
    ("lock", "updates"), [("/var/lib/apt/lists/lock", 2), ("of something else", 1)]
)
def test_another_apt_at_work_is_waited_for(
    lock: str, updates: int, checkout: Path, tmp_path: Path
) -> None:
    commands = {
        "apt-get": APT.format(folder=tmp_path, lock=lock),
        "Rscript": "#!/bin/sh\nexit 1\n",
        "id": "#!/bin/sh\necho 0\n",
        "sleep": "#!/bin/sh\n",
    }
    for name, lines in commands.items():
        (tmp_path / name).write_text(lines)
        (tmp_path / name).chmod(0o755)
    subprocess.run(
        [str(checkout / "scripts" / "r-for-tests")],
        env={"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        check=True,
        capture_output=True,
        cwd=checkout,
    )
    asked = (tmp_path / "asked").read_text().splitlines()
    assert len([line for line in asked if "update" in line]) == updates
    installs = [line for line in asked if " install " in line]
    assert len(installs) == updates - 1
    assert all("DPkg::Lock::Timeout=" in line for line in installs)
