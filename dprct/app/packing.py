"""After a release: buttons that verify it, make the folder for the journal, and verify that.

Each does what its command does, ``dprct verify`` and ``dprct package``, and charges nothing.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from dprct import disk
from dprct.errors import FileError, StudyError
from dprct.privacy.ledger import ledger_path
from dprct.release.verify import verify
from dprct.study.moments_tables import moments_path
from dprct.study.package import (
    cautions,
    check_package,
    package_folder,
    said,
    write_package,
)
from dprct.study.package_checks import checked_package
from dprct.study.protect import check_places
from dprct.study.several_studies import to_be_made

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dprct.study.study import Study

_MOST_FOLDERS = 6
_NOT_THEIRS = ("_package", ".released")


def next_steps(study: Study) -> Iterator[dict[str, Any]]:
    """What to do with a release, each with its command and the button that does the same."""
    name = shlex.quote(study.path.name)
    yield _step(
        f"Check that {study.output.name} is what was released",
        f"dprct verify {shlex.quote(study.output.name)}", "verify", "Verify it",
    )  # fmt: skip
    yield from _package_steps(study, name)
    yield _step("See what was spent, on what", f"dprct ledger {name}")
    if study.tables or not study.makes_file:
        yield _step("Print the numbers", f"dprct table {name}")


def _package_steps(study: Study, name: str) -> Iterator[dict[str, Any]]:
    if not study.is_packed or study.data.suffix.lower() != ".dta":
        why = (
            "your data are not a Stata file"
            if study.is_packed
            else "this method makes no file of rows"
        )
        what = f"Give the files above to the journal ({why}, so that no do-file runs on them)"
        yield _step(what, "")
        return
    what, target = "Make the folder that goes to the journal", package_folder(study)
    if study.package is None or study.package.folder is None:
        asks = "from which folder of do-files?" if study.do_files else (
            "it holds the release and the do-files that run on it"
        )  # fmt: skip
        place = {"folders": _folders(study.path.parent), "new": _new_folder(study)}
        yield _step(f"{what}: {asks}", "") | place | {"name_do_files": not study.do_files}
        return
    yield _step(what, f"dprct package {name}", "package", "Make the package")
    if target.is_dir():
        yield _step(
            f"Check the package {target.name} as a reader does",
            f"dprct verify {shlex.quote(target.name)}", "verify_package", "Verify the package",
        )  # fmt: skip


def _step(what: str, command: str, deed: str = "", button: str = "") -> dict[str, Any]:
    return {"what": what, "do": command, "deed": deed, "button": button}


def _folders(home: Path) -> list[str]:
    """Folders that may hold do-files: no package, and not what a ledger keeps."""
    found = [
        path.name
        for path in sorted(home.iterdir())
        if path.is_dir() and not path.is_symlink() and path.name[0] not in "._"
        and not path.name.endswith(_NOT_THEIRS)
    ]  # fmt: skip
    return found[:_MOST_FOLDERS]


def _new_folder(study: Study) -> str:
    """Name of the folder that a button makes for do-files; empty where it is not needed."""
    place = study.path.parent / f"{study.data.stem}_replication"
    return "" if place.exists() or not study.do_files else place.name


def new_folder(study: Study) -> list[dict[str, Any]]:
    """Make a folder with copies of the do-files, and return the changes that name it."""
    name = _new_folder(study)
    if not name:
        raise FileError("the folder is there already, or there are no do-files; reload the page")
    files, home = {path.name: path for path in study.do_files}, study.path.parent
    if len(files) < len(study.do_files):
        raise FileError("two of the do-files have one name; put all into one folder, and give that")
    try:
        texts = {own: path.read_bytes() for own, path in files.items()}
        with disk.writing_into(home), disk.drafts(home) as place:
            (place / name).mkdir()
            for own, text in texts.items():
                (place / name / own).write_bytes(text)
            (place / name).rename(home / name)
    except OSError as error:
        raise disk.file_error(error, home / name, "written") from None
    named = ", ".join(f'"{name}/{own}"' for own in texts)
    changes = {"folder": name, "do": named}
    return [{"at": ["package", key], "typed": typed} for key, typed in changes.items()]


def verified(study: Study) -> dict[str, Any]:
    """What ``dprct verify`` says of each file that was released."""
    files = [study.output]
    if study.release.method == "moments":
        files.append(moments_path(study.output))
    found = [verify(path, ledger=_ledger(study)) for path in files]
    lines = dict.fromkeys(line for one in found for line in str(one).splitlines())
    return {"ok": all(found), "lines": [*lines]}


def _ledger(study: Study) -> Path | None:
    """The ledger of the data, which may be in another folder than what was released."""
    path = ledger_path(study.data, study.dataset_id)
    return path if path.exists() else None


def packaged(study: Study) -> dict[str, Any]:
    """Write the package of a study whose releases are there, as ``dprct package`` does."""
    contents = check_package(study)
    if todo := to_be_made(contents):
        names = ", ".join(one.path.name for one in todo)
        raise StudyError(
            f"there is no release of {names} yet; release it first, on a page of its own"
        )
    for held in contents.held:
        check_places(held.study)
    found, target = write_package(study, contents)
    lines = [f"wrote the folder {target.name}", *said(found, contents), *cautions(contents)]
    return {"ok": True, "lines": lines}


def verified_package(study: Study) -> dict[str, Any]:
    """What ``dprct verify FOLDER`` says of the package."""
    found = checked_package(package_folder(study), _ledger(study))
    return {"ok": bool(found), "lines": str(found).splitlines()}
