"""Whether an sdist and a wheel hold what they must, and nothing that they must not.

``python scripts/check_release.py FOLDER`` looks into the one of each in the folder.
"""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from pathlib import Path

IN_WHEEL = (
    "dprct/__init__.py",
    "dprct/py.typed",
    "dprct/demo_data/thornton_hiv.dta",
    "dprct/demo_data/thornton.toml",
)
NEVER = re.compile(r"(^|/)(\.venv|\.git|__pycache__|build|dist|\.hypothesis)(/|$)|\.pyc$")
_CALLED = re.compile(r"(?<![\w/])scripts/([\w-]+(?:\.py)?)")


def called_scripts(makefile: str) -> set[str]:
    r"""Return the names of the scripts that a Makefile (or a script) calls.

    Examples
    --------
    >>> sorted(called_scripts("r:\n\t@scripts/r-for-tests x\n\tpython scripts/bench_scale.py"))
    ['bench_scale.py', 'r-for-tests']
    """
    return set(_CALLED.findall(makefile))


def faults_of_sdist(files: dict[str, str]) -> list[str]:
    """Return what is missing in an sdist or must not be in it.

    Parameters
    ----------
    files : mapping of str to str
        Paths below the top folder, with the text of those that call scripts.
    """
    wanted = {"Makefile", "README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", ".ci/run"}
    pending = [files.get("Makefile", ""), files.get(".ci/run", "")]
    while pending:
        for name in called_scripts(pending.pop()):
            path = f"scripts/{name}"
            if path not in wanted:
                wanted.add(path)
                pending.append(files.get(path, ""))
    return [f"the sdist lacks {path}" for path in sorted(wanted - set(files))] + [
        f"the sdist holds {path}" for path in sorted(files) if NEVER.search(path)
    ]


def faults_of_wheel(names: list[str], metadata: str) -> list[str]:
    """Return what is missing in a wheel or must not be in it."""
    strange = [n for n in names if not re.match(r"dprct(-[\w.]+\.dist-info)?/", n)]
    faults = [f"the wheel lacks {name}" for name in IN_WHEEL if name not in names]
    faults += [f"the wheel holds {name}" for name in names if NEVER.search(name) or name in strange]
    if not any(name.endswith("/licenses/LICENSE") for name in names):
        faults.append("the wheel lacks its licence")
    faults += [
        f"its metadata lack {line!r}"
        for line in ("License-Expression: BSD-3-Clause", "Requires-Python:")
        if line not in metadata
    ]
    return faults


def main(folder: Path) -> int:
    """Look into the sdist and the wheel of a folder; say what is wrong."""
    (sdist,), (wheel,) = folder.glob("dprct-*.tar.gz"), folder.glob("dprct-*.whl")
    files = {}
    with tarfile.open(sdist) as archive:
        for member in archive.getmembers():
            path = member.name.partition("/")[2]
            if member.isfile():
                calls = path in ("Makefile", ".ci/run") or path.startswith("scripts/")
                opened = archive.extractfile(member) if calls else None
                files[path] = opened.read().decode("utf-8") if opened else ""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (about,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = archive.read(about).decode("utf-8")
    faults = faults_of_sdist(files) + faults_of_wheel(names, metadata)
    print("\n".join(faults) or f"{sdist.name} and {wheel.name} hold what they must")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
