"""Programs that a package adds.

Do-files run the valid regressions of a protected file, and all of them in their order.  Of released
moments a Python program reads the valid regressions off, and a do-file opens their numbers.
"""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from dprct.certificate.valid_groups import spelled
from dprct.certificate.valid_regressions import Validity
from dprct.dofile.regression import SMALL
from dprct.schema.conditions import in_signs
from dprct.study.do_columns import written_out
from dprct.study.obstacles import VALID
from dprct.study.package_page import OnFile, OnMoments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dprct.study.package_page import Held, Side
    from dprct.study.study import Study
    from dprct.study.verdicts import Verdict

_WIDTH = 90


def valid_do(found: Sequence[Verdict], held: Sequence[Held], sides: Sequence[Side]) -> str:
    """Return a do-file that runs the valid regressions of the do-files, and no other."""
    lines = [
        f"* Written by dprct package for {held[0].study.dataset_id}: the regressions of",
        "* the do-files that are valid on the protected file, with the place of each. They return",
        "* the released effects of treatment, and errors that contain sampling and privacy noise.",
        *(
            f"* {line}"
            for side in sides
            if isinstance(side.on, OnFile)
            for line in _of_constants(Validity.of(side.on.schema))
        ),
        "version 12",
    ]
    open_place = ""
    places = _places(held, sides)
    for at, one in enumerate(found):
        if one.kind == "valid" and at in places:
            row, place = one.regression, places[at]
            if place != open_place:
                lines += ["", f'use "{place}", clear']
                open_place = place
            table = f", {comment(row.table)}" if row.table else ""
            lines += ["", f"* {comment(row.file)}:{row.line}{table}", stata_line(one)]
    if not open_place:
        lines += ["", "* No regression is valid: README-data.md gives the reason for each."]
    return "\n".join(lines) + "\n"


def _places(held: Sequence[Held], sides: Sequence[Side]) -> dict[int, str]:
    """Return the protected file on which each regression runs."""
    pairs = zip(held, sides, strict=True)
    return {
        at: one.place
        for one, side in pairs
        if isinstance(side.on, OnFile)
        for at in side.regressions
    }


def _of_constants(valid: Validity | None) -> list[str]:
    """Return lines about the constants of regressions, of which Stata prints other errors."""
    if valid is None or valid.rounded or not valid.control_errors:
        return []
    return [comment(line) for line in textwrap.wrap(valid.control_words(), _WIDTH)]


def stata_line(one: Verdict) -> str:
    """Return a regression as one command of Stata.

    Examples
    --------
    >>> from dprct.dofile import Regression
    >>> from dprct.study.verdicts import Verdict
    >>> row = Regression("a.do", 3, "areg", "y", ("t", "age"), absorb=("v",), vce="robust")
    >>> stata_line(Verdict(row, "valid"))
    'areg y t age, absorb(v) vce(robust)'
    >>> stata_line(Verdict(row, "valid", group=("g", 2.0)))
    'areg y t age if g == 2, absorb(v) vce(robust)'
    >>> row = Regression("a.do", 4, "ivregress", "y", ("d", "age"), endogenous=("d",),
    ...                  instruments=("t",), vce="robust", note="small-sample errors")
    >>> stata_line(Verdict(row, "valid"))
    'ivregress 2sls y age (d = t), vce(robust) small'
    """
    row = one.regression
    outcome = " ".join(row.outcomes)
    options = [f"absorb({' '.join(row.absorb)})"] if row.absorb else []
    if row.cluster:
        options.append(f"vce(cluster {' '.join(row.cluster)})")
    elif row.vce not in ("", "classical"):
        options.append(f"vce({row.vce})")
    command = " ".join([row.command, outcome, *row.regressors])
    if row.endogenous:
        method = ["2sls"] if row.command == "ivregress" else []
        exogenous = [name for name in row.regressors if name not in row.endogenous]
        inner = f"({' '.join(row.endogenous)} = {' '.join(row.instruments)})"
        command = " ".join([row.command, *method, outcome, *exogenous, inner])
        options += ["small"] if SMALL in row.note else []
    if one.group is not None:
        column, level = one.group
        by = f"by {column}, sort: {command}"
        command = by if row.groups else f"{command} if {column} == {spelled(level)}"
    if one.some is not None:
        command += f" if {one.some.condition()}"
    if one.where is not None:
        command += f" if {in_signs(one.where)}"
    if one.reading is not None:
        command += f" if {row.sample}" if row.sample else ""
        command += f" [{row.weights}]" if row.weights else ""
    return f"{command}, {' '.join(options)}" if options else command


def made_columns(found: Sequence[Verdict], studies: Sequence[Study]) -> tuple[str, ...]:
    """Return the lines of do-files that make columns which a study makes, with what it makes."""
    names = {text: name for study in studies for text, name in written_out(study.derived).items()}
    lines: dict[str, None] = {}
    for one in found:
        for made in one.regression.made.values():
            if name := names.get(made.expression, ""):
                at = ", ".join(f"{file}:{line}" for file, line in dict.fromkeys(made.places))
                lines[f"{at}  {name} = {made.expression}"] = None
    return tuple(lines)


def run_do(found: Sequence[Verdict], held: Sequence[Held], sides: Sequence[Side]) -> str:
    """Return a do-file that runs the regressions in their order on the columns of the release."""
    lines = [
        f"* Written by dprct package for {held[0].study.dataset_id}: the regressions of",
        "* the do-files in their order, where the file itself holds what they make of columns.",
        "* Left out, because of that, are these lines, each with the column and what it is:",
        *(f"*   {comment(line)}" for line in made_columns(found, [x.study for x in held])),
        "* Regressions that print no number of the release are named, with why, and not run.",
        "version 12",
    ]
    lines += _by_data_set(found, held, sides)
    return "\n".join(lines) + "\n"


def _by_data_set(
    found: Sequence[Verdict], held: Sequence[Held], sides: Sequence[Side]
) -> Iterator[str]:
    """Yield the regressions, each after the data set that it uses."""
    places = _places(held, sides)
    open_place = ""
    for at, one in enumerate(found):
        row, runs = one.regression, one.kind in ("valid", "effects only") and at in places
        why = f": {comment(one.reason)}" if one.reason else ""
        yield from ("", f"* {comment(row.file)}:{row.line}  {one.kind}{why}")
        if runs and places[at] != open_place:
            open_place = places[at]
            yield f'use "{open_place}", clear'
        yield stata_line(one) if runs else f"* not run: {comment(stata_line(one))}"


_OPENING = """\
import pathlib

import dprct

HERE = pathlib.Path(__file__).parent
"""


def read_off_py(found: Sequence[Verdict], held: Sequence[Held], sides: Sequence[Side]) -> str:
    """Return a Python program that reads the valid regressions off released moments."""
    lines = [
        f"# Written by dprct package for {held[0].study.dataset_id}: the regressions of the",
        "# do-files that the released moments serve, with the place of each. It needs no data:",
        "# pip install dprct, then python run.py. The same from a shell is dprct ols.",
        _OPENING,
    ]
    for whose, side in zip(held, sides, strict=True):
        if not isinstance(side.on, OnMoments):
            continue
        lines += [
            f"moments = dprct.Moments.load(HERE / {whose.place!r})",
            "guarantee = str(moments.guarantee)  # of all regressions: printed once, below them",
        ]
        for at in sorted(side.regressions):
            one = found[at]
            if one.kind in VALID and one.reading is not None and not one.every_level:
                lines += ["", f"# {_said_of(one)}", f"print({_call(one, side.on)})"]
        lines += ["", "print(guarantee)", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _said_of(one: Verdict) -> str:
    row = one.regression
    table = f", {comment(row.table)}" if row.table else ""
    return f"{comment(row.file)}:{row.line}{table}: {comment(stata_line(one))}"


def _call(one: Verdict, on: OnMoments) -> str:
    assert one.reading is not None
    call = str(one.reading.call(on.moments))
    return call if one.reading.ratios else f"{call}.summary().without(guarantee.splitlines())"


def estimates_do(held: Sequence[Held]) -> str:
    """Return a do-file that opens the released numbers, one row for each coefficient."""
    names = [one.papers[1] for one in held if not one.study.makes_file]
    lines = [
        f"* Written by dprct package for {held[0].study.dataset_id}: the regressions of the",
        "* do-files as they were released, one row for each coefficient. Their data are not here:",
        "* the do-files show what was run, and these are the numbers, with errors and intervals",
        "* that contain sampling and privacy noise.",
        "version 12",
    ]
    for name in names:
        lines += [
            "",
            f'insheet using "{name}", comma names clear',
            "destring value, replace force  // a number that noise hides is missing",
            'replace statistic = "error" if statistic == "std.error"',
            'replace statistic = subinstr(statistic, ".", "_", .)',
            'drop if strpos(statistic, "_") & !inlist(statistic, "conf_low", "conf_high")',
            "reshape wide value, i(table covariates outcome arm) j(statistic) string",
            "rename value* *",
            "list table outcome arm estimate error conf_low conf_high, noobs sepby(table)",
        ]
    return "\n".join(lines) + "\n"


def comment(text: str) -> str:
    """Text of a do-file that ends no comment and goes on in no other line."""
    plain = "".join(c if c.isprintable() and c not in "`$" else " " for c in text)
    return re.sub(r"/(?=[/*])|\*(?=/)", " ", plain)[:300]
