"""Write docs/study_file.md: a worked study file of each method, and every key.

The keys come from the specifications that read them, and the files from docs/studies, which the
tests take from check to table.

Usage: python scripts/study_file_page.py
"""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from dprct.annotations import STUDY_FILE
from dprct.app.forms import KINDS, LISTED
from dprct.app.words import FACTS, meanings
from dprct.schema.facts import BuiltFrom, Fate, Role
from dprct.schema.keys import is_required, keys_of
from dprct.study.asked import DESIGN, given_elsewhere, needs_formula, parts_of, spec_of, titled
from dprct.study.methods import ESTIMATES, METHODS, STRICT
from dprct.study.prepare import STEPS
from dprct.study.wording import in_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dprct.annotations import Kinds

_FLAG = "true or false"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "study_file.md"
STUDIES = PAGE.parent / "studies"
HEAD = """\
# The study file

A study file states, in TOML, what is released from a confidential file and which facts about it are
public. This page shows a worked file for each method and lists all keys;
`scripts/study_file_page.py` writes it from the specifications that read them. The keys have the
same names as the options of the Python classes and of the R functions.

1. `dprct describe FILE --draft study.toml` drafts a study file with blanks.
2. `dprct check study.toml` lists what is still open. It reads the header of the data file but not
   its rows, and checks that the budget is available.
3. `dprct plan study.toml` states what the release costs and how noisy it will be. It reads the rows
   to refuse problems that only rows can show: a value outside its bounds, an unbalanced panel, an
   assignment that the design cannot have produced.
4. `dprct protect study.toml` charges the ledger and writes the protected file, or the results.
5. `dprct table`, `dprct ledger` and `dprct verify` show the results, what was spent, and whether a
   file is unchanged. `dprct protect --resume ENTRY` writes a release that was already paid for
   again.

The file begins with `version = 1`, `data` (the confidential file) and `dataset_id` (the name under
which its ledger is kept). If `data` comes from another program, `names = "stata"` renames columns
whose names Stata does not allow (`inc.total` to `inc_total`, `int` to `int_`); the certificate
lists both names. Without it such names are refused before anything is charged. Each column that is
used has a table `[columns.NAME]` with its public facts ([choosing bounds](choosing_bounds.md)); one
table with a pattern, such as `[columns."hh_*"]`, serves several columns. `[study]` states what
happens to all others. An unknown key is refused.

## Methods

`[release] method` is one of these. A release makes a protected file; an estimate makes a document
of numbers, `<data>_<method>.json`, and a readable version, `<data>_<method>.txt`. An estimate reads
only the columns that it names; these need no fate, and `dprct table` prints its results.
`moments` also writes its release, `<data>.moments.json`, with a certificate: readers run
their own regressions on it ([released moments](private_moments.md)).
Instead of a formula you can write keys, except for `ipw`, whose covariates are terms.

| method | makes | reads besides `[release]` and the columns |
|---|---|---|
"""
SECTIONS: Mapping[str, str] = {
    "study": (
        "A file with hundreds of columns does not need a table for each: name the columns of the "
        'study, and give the others one fate. `[columns."hh_*"]` declares facts about every column '
        "whose name matches; a column's own table takes precedence over patterns, and a later "
        "pattern over an earlier one.\n\n"
        "`sample` replaces an `if` that all regressions of a paper share. It is written as "
        "after Stata's `if`, with `&`, `|`, `!` and `inlist()`; text is not compared. Its "
        "columns are public, so who is in the sample is public; the guarantee, the certificate and "
        "the plan say so, and no method reads rows outside it. It is for protected files. "
        'Who answered, or who is poor, is rarely public: `method = "moments"` has `subgroups` '
        "whose cells are private. Merge files about the same people beforehand: `[study.merge]` "
        "is refused, and the refusal names the command."
    ),
    "prepare": (
        "What the study does to the rows of its file before anything else, one section per step, "
        "in order. `merge` adds the columns of a file of public facts, such as facts about "
        "villages, by its key, as a do-file does with `merge m:1 village using villages.dta`. Its "
        "columns then are columns of the data. Their types, bounds, levels and missing codes are "
        "those of the file, unless `[columns.NAME]` declares others; it also gives their fates. A "
        'column without a fate counts as private, like any other; `fate = "public"` requires a '
        "public key. The columns added to a row are a function of the row's own key and of a "
        "public file, so who is protected, how many rows a person has, and every sensitivity "
        "remain the same. The whole file counts as public: certificate, approval page and package "
        "name it with its hash, and a package contains it. It must not be computed from the "
        "participants, as village means are. Commands that repeat rows (`1:m`, `joinby`, "
        "`expand`) are refused, each with what to do instead. The other steps are `append`, "
        "`reshape` and `collapse`; their keys are below."
    ),
    "release": "",
    "budget": "",
    "unit": "",
    "header": "",
    "declared": "",
    "design": "",
    "informed": "For `published_hybrid` and `published_gen_model`.",
    "regression": (
        'For `method = "moments"` and `"calibrated"`: one for each regression of the paper. A '
        "regression of `moments` that is a formula and nothing else may stand in `formulas` of "
        "`[moments]` instead. `dprct ols` takes the name "
        "([declared regressions](declared_regressions.md))."
    ),
    "table": (
        "One for each table that is made from a protected file, or read off released moments. "
        "Of moments, each outcome with each set of covariates is a regression that must be "
        "declared or follow from the moments, with the errors of the table; one that is not "
        "released is printed as *n.r.*, with the reason, and a table without any is refused "
        "before the charge. `control`, `alternative`, `distribution`, `sample` and adjustments "
        "that resample rows are for files."
    ),
    "availability": "",
    "package": "For `dprct package`, and for the verdicts of `dprct check`.",
}
"""What is said at the head of each section."""


COLUMN: Mapping[str, str] = {
    "fate": ", ".join(f'`"{fate}"`' for fate in get_args(Fate)),
    "levels": "a list of numbers, or a list of texts",
    "bounds": "two numbers in brackets",
    "bins": "a whole number, or a list of numbers",
    "missing": '`"never"`, or a list of texts',
    "missing_policy": '`"public"`, `"private"`, `"level"`, or a number',
    "role": ", ".join(f'`"{role}"`' for role in get_args(Role)),
    "built_from": ", ".join(f'`"{kind}"`' for kind in get_args(BuiltFrom)),
    **dict.fromkeys(("sd", "sd_within", "centre"), "a number"),
    **dict.fromkeys(("clip", "integer", "coordinates", "confirmed", "constants_public"), _FLAG),
    "decimals": "a whole number",
    "made_of": "a list of names",
    **dict.fromkeys(("exclusive", "derived", "label", "format"), "text in quotes"),
}
"""What a key of a column takes."""


DERIVED = """\
Columns that are not in the file, each computed from others in the same row.
`dprct describe --draft --do` lists here the columns that do-files make with `gen`, `replace`,
`recode`, `egen` and the like ([do-files](do_files.md)).

```toml
[derived]
log_wage = "log(wage + 1)"
adult = "where(missing(age), 1, age > 17)"     # gen adult = age > 17, with Stata's missing values
hours = "rowtotal(hours_farm, hours_shop)"
late = "year(interview) > 2015 and town == 'A'"
```

An expression consists of names of columns, numbers, `+ - * / **`, comparisons, `and`, `or`, `not`,
comparisons of text with `==` and `!=`, and these functions: `log exp sqrt abs floor ceil round`,
`minimum maximum` of two, `missing`, `where(condition, value, otherwise)` (without the last:
missing), `rowmin rowmax rowtotal rowmean rownonmiss`, which ignore missing values, and
`year month day` of Stata's dates. A result computed from a missing value is missing. A later
column may use an earlier one. Other rows cannot be used, so each value remains that of
one person.

A derived column is released like any other, not recomputed from released columns. Bounds, levels
and missing codes follow from the declarations of the columns in the expression: from all
combinations of their levels if these are few, otherwise by interval arithmetic. If nothing follows,
as for the logarithm of a column without bounds, declare them in `[columns.NAME]`, which also gives
the fate and takes precedence. Text becomes numbers only by comparison."""


def columns() -> Iterator[str]:
    """Yield the section on columns."""
    yield from ("", "## `[columns.NAME]`", "")
    yield (
        "The public facts of one column of the file or, with a pattern "
        '(`[columns."hh_*"]`), of several. All are declared from public knowledge; none is '
        "read from the data. If a column of the file is a function of others, `derived` gives the "
        "expression (names of columns, numbers, `+ - * / **`, comparisons, `and`, `or` and `not`), "
        'as in `derived = "age >= 18 and female == 1"`, and the protected file computes the column '
        "from its own columns."
    )
    yield from ("", "| key | takes | meaning |", "|---|---|---|")
    for name, meaning in FACTS.items():
        yield f"| `{name}` | {COLUMN[name]} | {meaning} |"


def explained(kind: Any) -> dict[str, str]:
    """Return what the docstring of a class says of each name, for a cell of a table."""
    return {name: in_markdown(said) for name, said in meanings(kind).items()}


def in_markdown(text: str) -> str:
    """Return a sentence of a docstring for a cell of a table, its values as TOML writes them."""
    text = re.sub(r":\w+:`~?(?:[\w]+\.)*([\w]+)`", r"`\1`", text)
    text = " ".join(text.replace("``", "`").replace("|", r"\|").split())
    return re.sub(r"`([^`]*)`", lambda found: f"`{in_toml(f'``{found[1]}``')}`", text)


IN_A_STUDY_FILE = {
    "index": "A public index of covariates: a formula with fixed coefficients, such as "
    '`"12 + 30*age"`, or a table of these by outcome. The outcome less its index is clipped to '
    "`index_bounds`, which buys narrower bounds.",
    "index_columns": "The covariates of the index; a formula names them itself.",
    "unit": "The column of the units; by default the one that `xtset` noted in the .dta file.",
    "time": "The column of the periods; by default the one that `xtset` noted in the .dta file.",
}
"""What keys of an estimate mean where its class takes more than a study file can say."""


def taken(kinds: Kinds) -> str:
    """Return in words what a key takes, choices as TOML writes them."""
    return re.sub(r"'([\w-]*)'", r'`"\1"`', STUDY_FILE.words(kinds)).replace("|", r"\|")


def rows(kind: Any, said: dict[str, str], given: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the rows of the table of a section."""
    yield "| key | takes | default | meaning |"
    yield "|---|---|---|---|"
    for name, (field, kinds) in keys_of(kind).items():
        if name in given:
            continue
        plain = field.default if not is_required(field) else "required"
        default = "" if plain is None or callable(field.default_factory) else spelled(plain)
        meaning = said.get(name, "")
        if any(kind.choices for kind in kinds):  # the choices stand before it
            meaning = re.sub(r'^(?:"[^"]*"(?:, | or )?)+[^:"`]*: ', "", meaning)
        yield f"| `{name}` | {taken(kinds)} | {default} | {meaning} |"


def spelled(value: Any) -> str:
    """Return a default as TOML has it."""
    if value == "required" or value in ("", ()):
        return "required" if value == "required" else ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return f"`[{', '.join(map(str, value))}]`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def examples() -> Iterator[str]:
    """Yield the worked files: what each is for, and the file itself."""
    yield from ("", "## Worked files", "")
    yield "The tests take each of these files from `dprct check` to `dprct table`."
    for method in STRICT:
        first, *rest = (STUDIES / f"{method}.toml").read_text("utf-8").splitlines()
        yield from ("", f"### `{method}`", "", first.removeprefix("# "), "", "```toml")
        yield from rest
        yield "```"


ROWS = {
    "append": (
        "Appends the rows of a second confidential file about the same people, such as another "
        "round of a survey. `[unit] id` identifies who is in both, and `max_rows` bounds the "
        "number of rows of one person in all files together: these are protected together, and "
        "every sensitivity is that of so many rows. Columns that a file lacks are missing in its "
        "rows; "
        'their `[columns.NAME]` must say so (`missing = ["."]`). The ledger records the hash of '
        "the second file, which then gets no budget of its own. A certificate names the file "
        "without its hash, since a hash of confidential rows is not protected. A package does not "
        "contain the file."
    ),
    "reshape": (
        "Turns waves from columns into rows, or from rows into columns, for the waves declared "
        "here. Each new row depends only on the rows with its own id. The long rows of one person "
        "are protected together (`max_rows` is the number of waves); wide rows become one per id. "
        "If an id has several rows of a wave, the first in the order of the file is used. Stata "
        "would stop there, but stopping would reveal something about the data."
    ),
    "collapse": (
        "Makes one row of each group. Each of its people affects a mean, so the group is the "
        "unit: `[unit]` names it, and all of its people are protected together, as the one row "
        "that they become. With 200 villages there are 200 rows, and the noise is that of 200 "
        "rows. Who is in which group is public, and so is the number of groups. To protect people "
        "one by one, regress on rows instead, with errors clustered by the group."
    ),
}

READ_NEXT = "**Read next:** [protect your first file](first_file.md), [read a plan](plans.md)."


def page() -> str:
    """Return the whole page."""
    lines = [HEAD.rstrip("\n")]
    for method in METHODS:
        makes = "a document of numbers" if method in ESTIMATES else "a protected file"
        parts = [
            "`formula`" if part == "formula" else f"`{titled(part)}`" for part in parts_of(method)
        ]
        lines.append(f"| `{method}` | {makes} | {', '.join(parts) or 'nothing'} |")
    lines += examples()
    for name, about in SECTIONS.items():
        kind = KINDS.get(name) or LISTED[name]
        title = f"[{name}]" if name in KINDS else f"[[{name}]]"
        lines += ["", f"## `{title}`", "", *([about, ""] if about else [])]
        lines += rows(kind, explained(kind))
        for step, of in STEPS.items() if name == "prepare" else ():
            lines += ["", f"### `{step}`", "", ROWS[step], "", *rows(of, explained(of))]
        if name == "study":
            lines += [*columns(), "", "## `[derived]`", "", DERIVED]
    for method, model in STRICT.items():
        if method not in parts_of(method):
            continue
        spec = spec_of(method)
        about = f'For `method = "{method}"`: the options of `dprct.{model.__name__}`.'
        if spec.formula_gives:
            *most, last = (f"`{name}`" for name in spec.formula_gives)
            given = f"{', '.join(most)} and {last}"
            about += f' `[release] formula = "{spec.formula_like}"` gives {given}'
            keys = not needs_formula(method) and method in ESTIMATES
            about += "; without it they are keys here." if keys else "."
        if DESIGN in signature(spec).parameters:
            about += " `[design]` says how treatment was assigned."
        told = given_elsewhere(method)
        told += spec.formula_gives if needs_formula(method) else ()
        lines += ["", f"## `[{method}]`", "", about, ""]
        lines += rows(spec, explained(model) | IN_A_STUDY_FILE, told)
    return "\n".join([*lines, "", READ_NEXT]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
