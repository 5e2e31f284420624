"""A replication package: the folder as it may be published, with the release in the data's place.

The release is a protected file, or a document of moments from which regressions are read off.
Nothing is spent here: it is there already.  A package is made in a folder of its
own and takes its name at the end, or nothing is left.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import tomlkit

from dprct import disk
from dprct.certificate.certificate import digest_of
from dprct.custodian.rows_in_texts import Table
from dprct.disk import file_error, read_toml
from dprct.dofile.reader import decoded
from dprct.errors import FileError, StudyError
from dprct.io import read
from dprct.io.stata import write_dta
from dprct.privacy.accountant import find_ledger
from dprct.records import dataclass
from dprct.release.writing import (
    bytes_of,
    certificate_paths,
    certificate_texts,
    check_free_of_case,
    drafts_beside,
    reserve,
)
from dprct.schema.schema import Schema
from dprct.study.added_do_files import (
    comment,
    estimates_do,
    made_columns,
    read_off_py,
    run_do,
    valid_do,
)
from dprct.study.data_sets import (
    MANIFEST,
    fates_of,
    of_all,
    others_of,
    part_of,
    planned_verdicts,
    studies_of,
)
from dprct.study.do_files import read_do
from dprct.study.expected_regressions import entries
from dprct.study.headers import header_and_rows, read_header
from dprct.study.moments_tables import SUFFIX
from dprct.study.package_allowed import (
    Elsewhere,
    Folder,
    check_no_rows,
    content,
    elsewhere,
    folder_of,
    makers,
    roots,
    software,
)
from dprct.study.package_page import (
    Held,
    OnFile,
    OnMoments,
    Side,
    cells_of,
    released,
    report_page,
    silent_of,
)
from dprct.study.protect import identity_of, protected_certificate, released_file, texts_beside
from dprct.study.published_numbers import beside_released, published_numbers
from dprct.study.readme import PackageNote
from dprct.study.verdicts import of_moments, of_table, summary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dprct.certificate.certificate import Certificate
    from dprct.study.do_files import Others
    from dprct.study.package_page import Cell
    from dprct.study.published_numbers import Published
    from dprct.study.study import Study
    from dprct.study.verdicts import Verdict

README, EXPECTED, STUDY_FILE = "README-data.md", "expected.csv", "study.toml"
VALID, RUN, PROFILE, REPORT = "valid.do", "run.do", "profile.do", "report.html"
READ_OFF, ESTIMATES = "run.py", "estimates.do"
_OWN = (MANIFEST, README, EXPECTED, STUDY_FILE, VALID, RUN, REPORT, READ_OFF, ESTIMATES)
_OTHER_PROFILE = "dprct_profile.do"
_MOST_SHOWN = 20
_ROOM = 2**20
"""Bytes of documents and programs that a package adds: the room that is tried."""
_EXPANDED = frozenset('"`$')
"""What Stata expands in a name, and what ends one."""


@dataclass(frozen=True)
class Contents:
    """What a package will hold; it follows from public files and from the header of the data."""

    target: Path  # the folder that will be written
    folder: Folder
    # Where the release goes in it: a protected file under the name of the confidential one.
    place: str
    profile: str  # name of the do-file that Stata runs when it starts
    texts: Mapping[str, str]  # the do-files, by their path
    elsewhere: tuple[Elsewhere, ...]
    roots: tuple[str, ...]  # globals for folders that no do-file defines
    datasets: Mapping[str, str]  # other data files that regressions use, with what became of each
    held: tuple[Held, ...]  # the protected files, that of the study first
    published: tuple[Published, ...] = ()  # numbers that the paper prints


def package_folder(study: Study) -> Path:
    """The folder to which the package of a study is written."""
    named = None if study.package is None else study.package.output
    return study.path.parent / (named or f"{study.data.stem}_package")


def contents_of(study: Study, target: Path | None = None) -> Contents:
    """Planned contents of the package of a study; nothing is written or charged."""
    _check_has_file(study)  # first, so that nobody makes a folder in vain
    spec = study.package
    if spec is None or spec.folder is None:
        raise StudyError(
            'the study names no replication folder; write [package] folder = "..." in it'
        )
    studies = studies_of(study)
    for one in studies:
        _check_has_file(one)
    home = study.path.parent
    root = home / spec.folder
    _check_within(root, home, "[package] folder")
    headers = {one.data: one.of_file(read_header(one)).names for one in studies}
    for one in studies:
        headers |= {path: Schema.from_dta(path).names for path in one.confidential_files[1:]}
    public, unread = (
        [_in_folder(name, root, home) for name in some] for some in (spec.public, spec.unread)
    )
    whole = root.resolve()  # and the files of public facts that studies merge, those within it
    merged = (file.path.resolve() for one in studies for file in one.public_files)
    public += [path.relative_to(whole).as_posix() for path in merged if path.is_relative_to(whole)]
    folder = folder_of(root, public, headers, study.unit.id, unread)
    held = tuple(_held(one, root, headers, first=one is study) for one in studies)
    profile = _check_names(held, folder)
    place, files = held[0].place, study.do_files
    others = others_of(study, studies).headers
    schema = study.declared(read_header(study))
    reading = read_do(
        files, study.of_file(schema), dataset=study.data.name, others=others,
        merges=study.merges(schema),
    )  # fmt: skip
    texts = {
        name: decoded(content(root / name))
        for name in folder.copied
        if name.lower().endswith((".do", ".ado"))
    }
    _check_do_files(files, folder)
    places = [name for one in held for name in (one.place, *one.parts)]
    there = [*places, *folder.copied]
    target = package_folder(study) if target is None else target
    _check_target(target, home, root, study.dataset_id)
    used = {source for row in reading for source in (*row.sources, row.dataset) if source}
    data = [*places, *(path.name for one in studies for path in (one.data, *one.appended_files))]
    return Contents(
        target=target,
        folder=folder,
        place=place,
        profile=profile,
        texts=texts,
        elsewhere=tuple(elsewhere(texts, there)),
        roots=roots(texts, reading.undefined),
        datasets=_datasets(used, data, folder),
        held=held,
        published=() if spec.published is None else published_numbers(home / spec.published),
    )


def _in_folder(name: str, root: Path, home: Path) -> str:
    """Path in the folder of a file that the study names from its own place, or from the folder."""
    path = PurePosixPath(name.replace("\\", "/"))
    own = PurePosixPath(os.path.relpath(home / path, root).replace(os.sep, "/"))
    found = ".." not in own.parts and os.path.lexists(root / own)
    return (own if found else path).as_posix()


def _check_has_file(study: Study) -> None:
    """Refuse a study that makes neither a protected file of Stata nor released moments."""
    if why := study.unpackable:
        raise StudyError(why)


def _held(study: Study, root: Path, headers: Mapping[Path, Sequence[str]], *, first: bool) -> Held:
    parts = {_place(path, root): headers[path] for path in study.merged_files}
    before = "" if first else f"{study.data.stem}."
    papers = (before + STUDY_FILE, before + EXPECTED, before + README)
    place = _place(study.data, root)
    if not study.makes_file:
        place = place[: -len(study.data.suffix)] + SUFFIX
    return Held(study, place, parts, papers)


def _check_names(held: Sequence[Held], folder: Folder) -> str:
    """Return the name of the profile, after the names of all files were found to be free."""
    copied = {name.casefold() for name in folder.copied}
    profile = PROFILE if PROFILE not in copied else _OTHER_PROFILE
    for one in held:
        for place in (one.place, *one.parts):
            if _EXPANDED & set(place):
                raise FileError(
                    f"{place!r} has a quote, a backtick or a dollar in its name, which Stata does "
                    "not take as it is; rename the confidential file, and the place in the do-files"
                )
    own = _own_names(held, profile)
    folders = {
        parent.as_posix()
        for name in (*copied, *(name.casefold() for name in own))
        for parent in PurePosixPath(name).parents
    }
    taken = {*copied, *folders}
    for name in own:
        if name.casefold() in taken:
            raise FileError(
                f"{name!r} of the folder {folder.root.name!r} has a name that the package needs "
                "for its own file; give it another name"
            )
        taken.add(name.casefold())
    if both := sorted(name for name in folder.copied if name.casefold() in folders):
        raise FileError(
            f"{both[0]!r} of the folder {folder.root.name!r} has the name of a folder that the "
            "package needs; give it another name"
        )
    return profile


def _own_names(held: Sequence[Held], profile: str) -> list[str]:
    """Return the files of a package that are not copied: those of each data set, then the rest."""
    own = [*_OWN, profile]
    for one in held:
        for place in (one.place, *one.parts):
            own += [place, *(path.as_posix() for path in certificate_paths(Path(place)))]
        own += [name for name in one.papers if name not in _OWN]
    return own


def _check_within(place: Path, home: Path, what: str) -> None:
    if not place.resolve().is_relative_to(home.resolve()):
        raise FileError(
            f"{what} {place.name!r} lies outside the folder of the study file, through a link; put "
            "the folder itself there"
        )


def _place(data: Path, root: Path) -> str:
    """Place of the confidential file in the folder; its base name if it lies elsewhere."""
    real, inside = os.path.abspath(data), os.path.abspath(root)
    if real.startswith(inside + os.sep):
        return Path(real).relative_to(inside).as_posix()
    return data.name


def _check_do_files(files: Sequence[Path], folder: Folder) -> None:
    """Refuse do-files that the package would not hold."""
    root = folder.root.resolve()
    for path in files:
        whole = path.resolve()
        if not whole.is_relative_to(root):
            raise FileError(
                f"[package] do names {path.name!r}, which is not in the folder {folder.root.name!r}"
                f"; put it there, and name it with its folder: '{folder.root.name}/{path.name}'"
            )
        name = whole.relative_to(root).as_posix()
        if name in folder.left_out:
            raise FileError(
                f"the do-file {name!r} would be left out: {folder.left_out[name]}; look at it, and "
                "name it under [package] public if it may be published"
            )


def _check_target(target: Path, home: Path, root: Path, dataset_id: str) -> None:
    """Refuse a place where the package may not be written."""
    disk.require_folder(target)
    made, of = target.resolve(), root.resolve()
    if made.is_relative_to(of) or of.is_relative_to(made):
        raise FileError(
            f"the package {target.name!r} and the folder {root.name!r} lie inside each other; give "
            "a name next to the folder"
        )
    if made == home.resolve():
        raise FileError("the package would replace the folder of the study file; give a new name")
    disk.sweep(target.parent)
    check_free_of_case(target)
    if not os.path.lexists(target):
        return
    if target.is_symlink() or not target.is_dir():
        raise FileError(f"{target.name!r} exists and is not a folder; give another name")
    changed = _changed(target, dataset_id)
    if changed is not None:
        raise FileError(
            f"the folder {target.name!r} exists and is not this study's package as it was written"
            f"{changed}; move it away, or give another name with [package] output"
        )


@dataclass(frozen=True)
class Packed:
    """What a package that somebody else was given says that it holds."""

    # (Path, Path or None): of its data sets, each with the numbers of its valid regressions.
    releases: tuple[tuple[Path, Path | None], ...]
    do_files: tuple[Path, ...]  # those of the authors
    changed: str | None  # what is not as its manifest says


def packed(folder: Path) -> Packed:
    """Read the manifest of a package; FileError where there is none."""
    stated = _stated(folder)
    if stated is None:
        raise FileError(
            f"{folder.name!r} is a folder without the {MANIFEST} of a package; give a package that "
            "``dprct package`` wrote, or one file"
        )
    files, places = stated["files"], stated["places"]
    if not {*places} <= {*files}:
        raise FileError(f"{folder.name!r}: its {MANIFEST} does not list its releases; ask for it")
    profile = _OTHER_PROFILE if _OTHER_PROFILE in files else PROFILE
    theirs = [name for name in files if name.endswith(".do") and name not in {*_OWN, profile}]
    stems = [PurePosixPath(place.removesuffix(SUFFIX)).stem for place in places]
    numbers = [EXPECTED, *(f"{stem}.{EXPECTED}" for stem in stems[1:])]
    return Packed(
        tuple(
            (folder / place, folder / name if name in files else None)
            for place, name in zip(places, numbers, strict=True)
        ),
        tuple(folder / name for name in theirs),
        _changed(folder, stated["dataset_id"]),
    )


def _stated(target: Path) -> dict[str, Any] | None:
    """Return what the manifest of a package states; None if there is no such thing."""
    try:
        stated: Any = json.loads(content(target / MANIFEST))
        return {
            "dataset_id": str(stated["dataset_id"]),
            "files": {str(name): str(sha256) for name, sha256 in stated["files"].items()},
            "places": [str(one["place"]) for one in stated["data_sets"]],
        }
    except (FileError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _changed(target: Path, dataset_id: str) -> str | None:
    """Difference between a folder and the package of its manifest; None if there is none."""
    stated = _stated(target)
    if stated is None:
        return f" (it has no {MANIFEST})"
    if stated["dataset_id"] != dataset_id:
        return f" (it is that of data set {stated['dataset_id'][:80]!r})"
    files = stated["files"]
    found = {
        (Path(place) / name).relative_to(target).as_posix()
        for place, folders, names in os.walk(target)
        for name in [*names, *(one for one in folders if (Path(place) / one).is_symlink())]
    }
    if gone := sorted({*files, MANIFEST} - found):
        return f" ({gone[0]!r} is not in it)"
    if extra := sorted(found - {*files, MANIFEST}):
        return f" ({extra[0]!r} was added)"
    for name, sha256 in files.items():
        if hashlib.sha256(content(target / name)).hexdigest() != sha256:
            return f" ({name!r} was changed)"
    return None


def _datasets(used: set[str], places: Sequence[str], folder: Folder) -> dict[str, str]:
    """Fate of each other data file that the regressions of the do-files use."""
    mine = {PurePosixPath(place).stem.casefold() for place in places}
    copied = {PurePosixPath(name).stem.casefold() for name in folder.copied}
    left = {PurePosixPath(name).stem.casefold() for name in folder.left_out}
    found = {}
    for name in sorted(used):
        stem = PurePosixPath(name.replace("\\", "/")).stem.casefold()
        if stem in mine:
            continue
        if stem in copied:
            found[name] = "public, and in the package"
        elif stem in left:
            found[name] = (
                "not in the package: it is neither protected nor named as public; if it is about "
                "the same people, give it a study file ([package] studies), or merge it into the "
                "data before the release ([package] merge)"
            )
        else:
            found[name] = "not in the folder; the do-files make it, or it is missing"
    return found


def is_made(study: Study) -> bool:
    """Whether what the study releases is there, from this version of the study."""
    file = released_file(study)
    if not os.path.lexists(file):
        return False
    certificate = protected_certificate(study)
    if certificate.dataset_id != study.dataset_id or certificate.study != identity_of(study):
        raise FileError(
            f"{file.name!r} was made from another version of the study: of its method, "
            "options, budget or columns; take the study file of that time, or give [release] "
            "output another name and protect again, which charges the ledger again"
        )
    return True


def write_package(study: Study, contents: Contents) -> tuple[list[Verdict], Path]:
    """Write the package of a study whose protected file is there; return its verdicts."""
    found, sides = sides_of(study, contents)
    files: dict[str, bytes] = {}
    for one, side in zip(contents.held, sides, strict=True):
        file = released_file(one.study)
        files |= _certificates(one.place, side.certificate)
        files[one.place] = content(file)
        if hashlib.sha256(files[one.place]).hexdigest() != side.certificate.file["sha256"]:
            raise FileError(f"{file.name!r} was replaced while the package was made; try again")
        files |= _part_files(one, side, contents.target.parent)
    texts = _papers(contents, found, sides)
    texts |= _added(contents, found, sides, study.dataset_id)
    texts[REPORT] = report_page(found, sides, [*contents.folder.copied])
    files |= {name: text.encode("utf-8", "replace") for name, text in texts.items()}
    for name, sha256 in contents.folder.copied.items():
        files[name] = content(contents.folder.root / name)
        if hashlib.sha256(files[name]).hexdigest() != sha256:
            raise FileError(f"{name!r} was changed while the package was made; try again")
    _write(files, contents, study)
    return found, contents.target


def said(found: Sequence[Verdict], contents: Contents) -> list[str]:
    """What a package holds, line by line: its regressions, and the files that were copied."""
    folder = contents.folder
    many = len(folder.copied)
    files = "1 file" if many == 1 else f"{many} files"
    lines = [f"- {line}" for line in summary(found)]
    lines.append(f"{files} copied, {len(folder.left_out)} left out")
    for name in folder.copied:
        why = folder.unread.get(name)
        lines.append(f"copied: {name}" + ("" if why is None else f" (not checked: {why})"))
    return lines


def cautions(contents: Contents) -> list[str]:
    """What a package lacks that its do-files may need, line by line."""
    left_out = contents.folder.left_out
    lines = [f"left out: {name}: {why}" for name, why in [*left_out.items()][:_MOST_SHOWN]]
    if len(left_out) > _MOST_SHOWN:
        lines.append(f"left out: and {len(left_out) - _MOST_SHOWN} more")
    lines += [f"data {name}: {what}" for name, what in contents.datasets.items()]
    for one in contents.elsewhere[:_MOST_SHOWN]:
        here = one.here or "nothing in the package"
        lines.append(f"path of another machine: {one.file}:{one.line}: {one.path} ({here})")
    return lines


def _added(
    contents: Contents, found: Sequence[Verdict], sides: Sequence[Side], dataset_id: str
) -> dict[str, str]:
    """Return the programs that a package adds: on its files, and on its moments."""
    files = [held for held in contents.held if held.study.makes_file]
    texts = {}
    if files:
        texts = {VALID: valid_do(found, contents.held, sides),
                 contents.profile: profile_do(contents, dataset_id)}  # fmt: skip
    if any(held.study.derived for held in files):  # then do-files do not run as they are
        texts[RUN] = run_do(found, contents.held, sides)
    if len(files) < len(contents.held):
        texts[READ_OFF] = read_off_py(found, contents.held, sides)
        texts[ESTIMATES] = estimates_do(contents.held)
    return texts


def sides_of(study: Study, contents: Contents) -> tuple[list[Verdict], list[Side]]:
    """Verdicts of a package, and what is released of each data set, with its verdicts."""
    told = {one.study.path: protected_certificate(one.study) for one in contents.held}
    places = {one.study.path: one.place for one in contents.held}
    on = {one.study.path: released(released_file(one.study)) for one in contents.held}

    def verdicts_on(one: Study, others: Others) -> list[Verdict]:
        mine = on[one.path]
        if isinstance(mine, OnMoments):
            return of_moments(study.do_files, places[one.path], mine.moments, others)
        rows = mine.data, mine.schema
        return of_table(study.do_files, one.data.name, *rows, told[one.path].fates, others)

    found, whose = of_all([one.study for one in contents.held], verdicts_on)
    sides = []
    for one in contents.held:
        mine = [place for place, owner in enumerate(whose) if owner is one.study]
        certificate = told[one.study.path]
        signed = replace(
            certificate,
            file={**certificate.file, "name": PurePosixPath(one.place).name},
            facts={**certificate.facts, **_apart(study)},
            regressions=tuple(found[place].worth() for place in mine),
        )
        sides.append(Side(on[one.study.path], signed, frozenset(mine)))
    return found, sides


def _part_files(held: Held, side: Side, folder: Path) -> dict[str, bytes]:
    """Return the files that were merged before the release, with the released columns.

    Each has a certificate: what is promised of the release is promised of a part of it.
    """
    files: dict[str, bytes] = {}
    whole = PurePosixPath(held.place).name
    for place, columns in held.parts.items():
        assert isinstance(side.on, OnFile)
        data, schema = part_of(columns, side.on.data, side.on.schema)
        name = PurePosixPath(place).name
        with disk.drafts(folder) as drafts:
            write_dta(data, schema, drafts / name)
            files[place] = content(drafts / name)
        limit = (
            f"it holds columns of the release of {whole}, in the same rows and under the same keys:"
            f" merged by {held.study.unit.id} with the other files of it, it gives {whole} again"
        )
        signed = replace(
            side.certificate,
            fates=fates_of(side.certificate.fates, columns),
            file={"name": name, "sha256": hashlib.sha256(files[place]).hexdigest()},
            values=digest_of(data, schema),
            limits=(limit, *side.certificate.limits),
            reading=None,
            regressions=(),
        )
        files |= _certificates(place, signed)
    return files


def _papers(contents: Contents, found: Sequence[Verdict], sides: Sequence[Side]) -> dict[str, str]:
    """Return README, study file and numbers of each data set; the first README is of all."""
    first = contents.held[0].study
    cells = _all_cells(found, sides)
    note = PackageNote(
        place=contents.place,
        left_out=len(contents.folder.left_out),
        copied=tuple(contents.folder.copied),
        unread=contents.folder.unread,
        elsewhere=tuple(
            (f"{one.file}:{one.line}", one.path, one.here) for one in contents.elsewhere
        ),
        datasets=contents.datasets,
        added=_about_added(contents),
        has_rows=first.makes_file,
        regressions=tuple(one.worth() for one in found),
        others=tuple((one.place, one.papers[2]) for one in contents.held[1:]),
        together=_together(contents.held, sides),
        disjoint=first.disjoint,
        published=beside_released(contents.published, found, cells),
        silent=silent_of(found, cells),
        parts=tuple((one.place, one.study.unit.id or "", [*one.parts]) for one in contents.held
                    if one.parts),
        made=made_columns(found, [one.study for one in contents.held]),
        software=software(contents.texts),
        makers=makers(
            contents.texts,
            [path.name for one in contents.held for path in one.study.confidential_files],
        ),
    )  # fmt: skip
    texts: dict[str, str] = {}
    for one, side in zip(contents.held, sides, strict=True):
        own = note if one.study is first else PackageNote(one.place, has_rows=one.study.makes_file)
        numbers = entries(found, side.on, side.regressions)
        texts |= texts_beside(one.study, side.certificate, side.on, one.papers, own, numbers)
        texts[one.papers[0]] = _study_text(one.study, one.place, contents.folder.root)
    return texts


def _all_cells(found: Sequence[Verdict], sides: Sequence[Side]) -> dict[tuple[int, str], Cell]:
    cells: dict[tuple[int, str], Cell] = {}
    for side in sides:
        cells |= cells_of(found, side.on, side.on.level, side.regressions)[0]
    return cells


def _about_added(contents: Contents) -> dict[str, str]:
    files = {held.study.makes_file for held in contents.held}
    told = {REPORT: "shows every regression with its number, or why it has none."}
    if True in files:
        told |= {
            VALID: "runs the regressions that are valid, and no other.",
            contents.profile: "is run by Stata when it starts in this folder.",
        }
    if False in files:
        told |= {
            READ_OFF: "reads every valid regression off the released numbers, in Python.",
            ESTIMATES: "opens these numbers in Stata, with their errors and intervals.",
        }
    return told


def _apart(study: Study) -> dict[str, str]:
    """Return what certificates say of the other data sets of a package of different people."""
    if study.disjoint is None:
        return {}
    said = (
        f"of other people ({study.disjoint}): they spend nothing on a {study.unit.name} of this one"
    )
    return {"other data sets of the package": said}


def _together(held: Sequence[Held], sides: Sequence[Side]) -> tuple[str, ...]:
    """What all releases of a package spend and promise together, in sentences."""
    first = held[0].study
    if first.disjoint is not None:
        each = zip(held, sides, strict=True)
        return tuple(line for one, side in each for line in _alone(one, side))
    found = find_ledger(first.data, first.dataset_id)
    if len(held) == 1 and (found is None or found.charges == 1):
        return ()
    return _spent(first)


def _alone(held: Held, side: Side) -> tuple[str, ...]:
    """What is spent on people who are in this data set alone."""
    guarantee, found = (
        side.certificate.guarantee,
        find_ledger(held.study.data, held.study.dataset_id),
    )
    if found is not None and found.charges > 1:
        return (f"One {guarantee.unit} of {held.place}: {guarantee.budget} for this release.",
                *_spent(held.study))  # fmt: skip
    return (f"One {guarantee.unit} of {held.place}: {guarantee.budget}, and nothing more.",)


def _spent(study: Study) -> tuple[str, ...]:
    """What the ledger of a data set says of all charges to it."""
    found = find_ledger(study.data, study.dataset_id)
    sum_of = None if found is None else found.together
    if found is None or sum_of is None:
        return ()
    charges = found.charges
    counted = f"the {charges} charges" if charges > 1 else "the one charge"
    return (
        f"{counted.capitalize()} to the ledger of {study.dataset_id}: {found.spent} in all.",
        *sum_of.sentences(),
    )


def _certificates(place: str, signed: Certificate) -> dict[str, bytes]:
    texts = certificate_texts(signed, Path(place))
    return {path.as_posix(): text.encode("utf-8") for path, text in texts.items()}


def _write(files: Mapping[str, bytes], contents: Contents, study: Study) -> None:
    """Write all files into a new folder, which then takes its name."""
    from dprct import __version__

    target = contents.target
    data_sets = [
        {
            "place": one.place,
            "key": one.study.unit.id if one.parts else None,
            "parts": _wholes(one),
            **({"derived": dict(one.study.derived)} if one.study.derived else {}),
        }
        for one in contents.held
    ]

    listed = {name: hashlib.sha256(raw).hexdigest() for name, raw in sorted(files.items())}
    manifest = {
        "dprct_package": 1,
        "dprct": __version__,
        "dataset_id": study.dataset_id,
        "files": listed,
        "data_sets": data_sets,
    }
    whole = {**files, MANIFEST: (json.dumps(manifest, indent=2) + "\n").encode("ascii")}
    try:
        with disk.writing_into(target.parent), disk.drafts(target.parent) as place:
            for name, raw in whole.items():
                path = place / "new" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("xb") as file:
                    file.write(raw)
                    file.flush()
                    os.fsync(file.fileno())
            _exchange(place, target, study.dataset_id)
    except FileError:
        raise
    except OSError as error:
        raise file_error(error, target, "written") from None


def _wholes(held: Held) -> dict[str, bool]:
    """Files of a merge, each with whether it had no other people."""
    parts = others_of(held.study).parts
    return {place: parts[PurePosixPath(place).name].whole for place in held.parts}


def _exchange(place: Path, target: Path, dataset_id: str) -> None:
    """Put the new folder where the old one is; if that fails, the old one is there again."""
    with disk.uninterrupted():
        if os.path.lexists(target):
            if target.is_symlink() or _changed(target, dataset_id) is not None:
                raise FileError(
                    f"{target.name!r} was changed while the package was made; try again"
                )
            os.rename(target, place / "old")
        try:
            os.rename(place / "new", target)
        except OSError:
            if (place / "old").is_dir():
                os.rename(place / "old", target)
            raise
        disk.sync_folder(target.parent)


def _study_text(study: Study, place: str, root: Path) -> str:
    """Return the study file for readers: without comments, and for the file under its new name."""
    document: dict[str, Any] = dict(read_toml(study.path, StudyError))
    document.pop("package", None)
    home = study.path.parent
    for part in document.get("prepare", ()):
        if "merge" in part:
            part["merge"] = _place(home / part["merge"], root)
        if "append" in part:
            part["append"] = f"confidential/{PurePosixPath(part['append']).name}"
    document["data"] = f"confidential/{study.data.name}"
    document["release"] = {name: x for name, x in document["release"].items() if name != "output"}
    stem = place.removesuffix(SUFFIX)
    document["release"]["output"] = place if study.makes_file else f"{stem}_results.json"
    tables = study.makes_file or study.tables
    purpose = "for dprct table and for reading" if tables else "for reading"
    head = (
        f"# The study file of this package, {purpose}: what was declared\n"
        "# before the release. The confidential file that it names is not here.\n"
    )
    return head + tomlkit.dumps(document)


def profile_do(contents: Contents, dataset_id: str) -> str:
    """Return the do-file that Stata runs when it starts in the package."""
    lines = [
        f"* Written by dprct package for {dataset_id}. Stata runs this file when it starts in this",
        f"* folder; otherwise: cd to this folder, and do {contents.profile}.",
    ]
    programs = sorted(
        {
            PurePosixPath(name).parent.as_posix()
            for name in contents.folder.copied
            if name.lower().endswith(".ado") and not _EXPANDED & set(name)
        }
    )
    lines += [f'adopath ++ "{folder}"' for folder in programs]
    lines += [f'global {name} "."' for name in contents.roots]
    if contents.elsewhere:
        lines.append("* No profile can stand for a path of another machine. Change these lines:")
    for one in contents.elsewhere:
        here = one.here or "not in this package"
        lines.append(f"* {comment(one.file)}:{one.line}  {comment(one.path)} -- {comment(here)}")
    return "\n".join(lines) + "\n"


def check_package(study: Study, target: Path | None = None) -> Contents:
    """Contents of a package, after everything was tried that needs no charge.

    The confidential files are opened to search what will be copied for their rows; nothing else
    depends on them.
    """
    contents = contents_of(study, target)
    planned_verdicts(study, study.do_files)
    tables = []
    for one in (held.study for held in contents.held):
        schema = one.declared(read_header(one))
        tables += [
            Table.of(read(path, one.names)[0], one.of_file(schema, path))
            for path in one.confidential_files
        ]
    root = contents.folder.root
    own = {held.papers[0]: _study_text(held.study, held.place, root) for held in contents.held}
    if study.package is not None and study.package.published is not None:
        path = study.path.parent / study.package.published
        own[path.name] = disk.content(path, disk.MOST_JSON).decode("utf-8", "replace")
    check_no_rows(contents.folder, tables, own)
    _rehearse(contents)
    return contents


def _rehearse(contents: Contents) -> None:
    """Write files of the names of a package and of about its size, and leave nothing."""
    folder, held = contents.folder, contents.held
    size = sum((folder.root / name).lstat().st_size for name in folder.copied)
    for one in held:
        if one.study.makes_file:
            schema, rows = header_and_rows(one.study)
            size += bytes_of(schema, rows or 0)
    with drafts_beside(contents.target) as place:
        (place / contents.target.name).mkdir()
        for name in (*folder.copied, *_own_names(held, contents.profile)):
            path = place / "new" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        reserve(place / "new" / REPORT, size + _ROOM)


def check_package_of(study: Study) -> None:
    """Refuse before a release what ``dprct package`` would refuse after it, if the study has one.

    Nothing is written or charged.
    """
    if study.package is not None and study.package.folder is not None:
        check_package(study)
