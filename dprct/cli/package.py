"""``dprct package``: the replication folder with the release in the place of the data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dprct import disk
from dprct.cli.options import StudyFile
from dprct.cli.protect import files_judged, released
from dprct.cli.show import check_page, complain, say, working
from dprct.disk import atomic_write
from dprct.errors import FileError
from dprct.release.writing import drafts_beside

if TYPE_CHECKING:
    from dprct.study.package import Contents
    from dprct.study.study import Study
    from dprct.study.verdicts import Verdict


def package(
    study_file: StudyFile,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask. It does not confirm a refused plan.")
    ] = False,
    approved: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HASH",
            help="Refuse unless STUDY is still the one with this hash (dprct plan). Repeatable: "
            "one for each data set that is to be protected.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="FOLDER", help="Output folder, instead of the one that STUDY names."
        ),
    ] = None,
    custodian: Annotated[
        Path | None,
        typer.Option(
            "--custodian",
            metavar="PAGE",
            help="Also write the report with the confidential numbers; it stays with the data.",
        ),
    ] = None,
) -> None:
    """Write the replication folder of STUDY with its release in place of the confidential file.

    The release is a protected file, or a document of moments. An existing one is used, and nothing
    is charged; otherwise it is made first, as by dprct protect. If there are several data sets
    (studies of its package section), all are tried before the first is charged. Only files on an
    allow-list are copied, after a search for confidential rows; the command lists what is copied
    and what is not.
    """
    from dprct.study.package import cautions, check_package, said, write_package
    from dprct.study.protect import check_places
    from dprct.study.ready import study_of
    from dprct.study.several_studies import rehearsed, saying_what_was_made, to_be_made

    study = study_of(study_file)
    contents = check_package(study, output)
    if custodian is not None:
        _check_custodian(custodian, contents)
    todo = _to_be_paid(to_be_made(contents))
    hashes: list[str | None] = [None] * len(todo)
    if len(todo) > 1 or approved:
        with working("reading"):
            offers = rehearsed(todo, approved or ())
        hashes = [offer.sha256 if approved else None for offer in offers]
    for number, (one, sha256) in enumerate(zip(todo, hashes, strict=True)):
        with saying_what_was_made(todo[:number]):
            released(one, files_judged(one, None), yes=yes, approved=sha256)
    with working("packing"):
        for held in contents.held:
            check_places(held.study)
        found, target = write_package(study, contents)
    for line in said(found, contents):
        say(line)
    for line in cautions(contents):
        complain(line, "yellow")
    say(f"wrote {target}")
    if custodian is not None:
        _write_custodian(study, found, contents, custodian)


def _to_be_paid(todo: list[Study]) -> list[Study]:
    """Write what an interrupted run paid for, and return what is still to be paid for."""
    from dprct.study.several_studies import resumed

    left = []
    for one in todo:
        with working("reading"):
            found = resumed(one)
        if found is None:
            left.append(one)
        else:
            say(str(found))
    return left


def _check_custodian(page: Path, contents: Contents) -> None:
    """Refuse a place where the confidential report would be published, or replace another file."""
    from dprct.study.package_page import CUSTODIAN_KIND

    for folder in (contents.target, contents.folder.root):
        if page.resolve().is_relative_to(folder.resolve()):
            raise FileError(
                f"{page.name!r} would lie in {folder.name!r}, which is published; the report with "
                "confidential numbers stays with the confidential data"
            )
    disk.require_folder(page)
    if page.is_symlink():
        raise FileError(f"{page.name!r} is a link; give another name")
    check_page(page, CUSTODIAN_KIND)
    with drafts_beside(page) as place:  # it is written after the charge
        (place / page.name).touch()


def _write_custodian(study: Study, found: list[Verdict], contents: Contents, page: Path) -> None:
    from dprct.study.package import sides_of
    from dprct.study.package_page import custodian_page, on_confidential
    from dprct.study.ready import confidential

    sides = sides_of(study, contents)[1]
    raw = [
        replace(side, raw=on_confidential(side.on, *confidential(held.study)))
        for held, side in zip(contents.held, sides, strict=True)
    ]
    text = custodian_page(found, raw, [*contents.folder.copied])
    with atomic_write(page, mode="wb", private=True) as file:
        file.write(text.encode("utf-8"))
    say(f"wrote {page}: CONFIDENTIAL, not to be published")
