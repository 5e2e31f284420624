"""A study file with blanks: everything the header says, nothing that the data say."""

from __future__ import annotations

import json
import os
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from dprct.errors import ParameterError
from dprct.io.stata.names import former_names
from dprct.privacy.ledger import checked_id
from dprct.schema.columns import Column, shown
from dprct.schema.facts import FLOAT_LIMITS
from dprct.study.methods import METHODS, UNPROMISED
from dprct.study.places import check_printable
from dprct.study.sections import named, unmatched

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from dprct.dofile.memory import Restacked
    from dprct.schema.schema import Schema
    from dprct.study.do_columns import Derived
    from dprct.study.prefill import Prefill, Printed, TablePart

_LONGEST_ID = 80
_MOST_PLACES = 3
_MOST_REFUSED = 40

_ALL = """\
# [study]                          # a table below for every column, or, of a wide file:
# columns = []                     # the columns of the study, such as ["age", "hh_*"], and
# rest = "withheld"                # what becomes of all others: withheld, key or drop
{sample}
"""
_NAMES = """\
names = "stata"                    # what Stata lacks is read otherwise: inc.total as inc_total
"""
_SOME = """\
[study]
rest = "withheld"                  # of all columns without a table below; or "key", "drop"
{sample}
"""

_OF_HEADER = """\
# The names, types, formats and labels below come from the header of a confidential file.
# Read them, then say that they may be published:"""
_OF_ROWS = """\
# The names below, and which columns hold text, dates, numbers or whole numbers alone, were read
# from the rows of a confidential file. Check that each would be the same whoever had answered,
# take out what would not, then say that they may be published:"""

_HEAD = """\
# A study file for dprct. Fill in what is commented out, from public knowledge only:
# never look a bound up in the data. Then: dprct check {name}
version = 1
data = {data}
{names}dataset_id = {dataset_id}
# privacy charges are kept under this name, for ever: do not change it for a corrected file

[unit]
name = "person"                    # what one row is
{unit}
# max_rows = 1                     # the largest number of rows of one unit

{scope}
{derived}[release]
{method}
epsilon = 1.0
delta = 0.0
{formula}: the paper's regression, "y ~ treat + age";
                                   # for "private_ate": "y ~ treat"

# For "calibrated", on whose file that regression returns private effects with valid errors, and for
# "private_ate" and "cate":
# [design]
# kind = "complete"                # or simple, block, cluster, block_cluster, factorial
{arms} the 0/1 columns of the arms; their fate is "public"
# arm = ""                         # or one column of all groups; arms are then its codes
# block = ""                       # the column of blocks, if there is one
{cluster}
# largest = 20                     # the most rows of a cluster; icc = 0.05 bounds its correlation
# [calibrated]
# covariate_release = "auto"       # or histogram, marginals, filler
{specifications} other covariate sets, such as "age" or "C(village)"
# alphas = [0.05]                  # sizes of tests at which intervals are to be valid
# legal = "calibrated"             # or "strict": admissible values, which break the calibration

# [budget]                         # what may be spent on this data set in all;
# epsilon = 1.0                    # without it: what this release costs

[header]
{read}
confirm = false
# columns = ["_dta"]               # or column by column; "_dta": the file's label, notes, order

# fate says what is published of a column:
#   modelled   synthetic values from the private release; model few columns, coarsely
#   filler     uniform over its declared values; keeps the layout, carries no information
#   withheld   in the file, with every value missing
#   key        fresh identifiers of the same type
#   public     as it is, in shuffled rows: for what is public already
#   drop       not in the file

# An outcome may have, from public knowledge:
#   sd = 1.0                       about its standard deviation, which scales noise and plans errors
#   clip = true                    values beyond its bounds count as the bound
#   missing_policy = "public"      or "private", or a number that stands for missing values

# Dummies of arms, of which a row has at most one, each get:
#   fate = "modelled"; levels = [0, 1]; missing = "never"; exclusive = "arm"
"""

_BLANKS = {
    "sample": '# sample = "attrit == 0"           # only these rows, if who they are is public',
    "unit": '# id = ""                          # the column that identifies it',
    "derived": "",
    "formula": '# formula = ""                     # for "calibrated"',
    "arms": "# arms = []                        #",
    "cluster": '# cluster = ""                     # the column of clusters, if there is one',
    "specifications": "# specifications = []              #",
}
"""Lines of the head of which nothing is known."""

_REGRESSIONS = """
# The regressions of the do-files, as the paper prints them: for method = "moments", with a
# [design] that names the clusters below, and treatment public. C(x) is blocks if [design] names x,
# else a covariate. Errors are those of the do-files, if they are offered. Keep a where only if its
# columns were fixed before treatment, or are public; a comparison with a missing value is false
# here, unlike in Stata. The [[table]] sections at the end are read off these regressions. Those on
# an outcome of another (sex, in a test of balance and as a covariate) are not here: once it has
# role = "covariate" and the rest is filled in, dprct check lists them.
# [moments]
# neighbors = "replace-one-design-public"
"""

_ROWS = (
    "# The do-files do this to rows. Where the study does it as well, in this order, it releases",
    "# the regressions after it; another study releases those before it. Give paths from here, and",
    "# declare the columns that the rows then have. All of a file to merge must be public, such as",
    "# facts of villages that were not computed from answers; merge others beforehand, and let",
    "# data name the result. The last line of other steps is what [unit] says.",
)

_TAIL = """
# The tables of the paper, one section each; dprct table makes them from the release.
# [[table]]
# name = "table2"
# outcomes = []                    # columns
# arms = []                        # columns of 0 and 1
# covariates = []                  # terms, such as "age" or "C(village)"
# cluster = ""                     # the column of clusters, if there is one
# where = ""                       # its rows, such as "female == 1"; none on a calibrated file

# What a data editor asks and only you know; it goes into README-data.md.
# [availability]
# title = ""                       # of the article
# authors = ""
# contact = ""                     # whom to ask for the confidential data
# access = ""                      # who may apply, where, how long it takes, what it costs
# rights = ""                      # why you may use the data and publish the protected file
# license = ""                     # of the protected file
# citation = ""                    # of the data
"""


def draft(
    schema: Schema,
    data: Path,
    study: Path,
    filled: Prefill | None = None,
    columns: Sequence[str] = (),
    whole: Collection[str] = (),
    *,
    asks_of_text: bool = False,
) -> str:
    """A study file for a schema that was read from a header.

    Columns that do-files do not use are withheld; kind of design, bounds and levels stay blank,
    because only a person knows them.  ``columns`` are names, or patterns such as ``"hh_*"``, of
    what the study is about; the others are withheld.  ``whole`` columns of a file without a header
    have numbers that are all whole: that they are so by construction is proposed.  Free text is
    withheld, unless it is asked for as other columns are.

    Examples
    --------
    >>> from dprct.schema import Column, Schema
    >>> text = draft(Schema((Column("age", "byte"),)), Path("a.dta"), Path("study.toml"))
    >>> "[columns.age]" in text and "# bounds = " in text
    True
    """
    check_printable(data.name, "the data file")
    for text in columns:
        for problem in unmatched("columns", text, schema.names):
            raise ParameterError(problem)
    used = set(named(columns, schema.names))
    if filled is not None:
        used |= {name for name in filled.used if name in schema.names}
    some = len(used) < len(schema.columns) and (bool(columns) or filled is not None)
    formula = _formula_of_roles(schema) if filled is None else filled.formula
    lines = _BLANKS | ({} if filled is None else _known(filled))
    if formula:
        lines["formula"] = f'formula = {_text(formula)}\n{" " * 35}# for "calibrated"'
    head = _HEAD.format(
        **lines,
        method=_method(effects=bool(formula)),
        scope=(_SOME if some else _ALL).format(**lines),
        name=_one_line(study.name),
        data=_text(_relative(data, study.absolute().parent).as_posix()),
        names=_NAMES if former_names(schema) else "",
        dataset_id=_text(_dataset_id(data.stem)),
        read=_OF_ROWS if data.suffix.lower() == ".csv" else _OF_HEADER,
    )
    shown_columns = [c for c in schema.columns if not some or c.name in used]
    listed = "".join(
        _column(schema, c, filled, whole, is_withheld=c.type == "strL" and not asks_of_text)
        for c in shown_columns
    )
    listed += "" if filled is None else "".join(_made(one, filled) for one in filled.derived)
    if filled is None:
        return head + listed + _TAIL
    tables = "".join(_table(part, filled) for part in filled.tables)
    return head + listed + _regressions(filled) + _TAIL + tables


def _known(filled: Prefill) -> dict[str, str]:
    """Lines of the head that do-files tell; a design stays a comment until its kind is known."""
    known = {"derived": _derived(filled)}
    if filled.sample:
        shared = f"sample = {_text(filled.sample)}"
        asked = "all regressions share it; only if who they are is public"
        known["sample"] = _blank("# ", shared, asked)
    if filled.unit:
        known["unit"] = (
            f"# id = {_text(filled.unit)}  # each has an effect; max_rows of one, all protected"
        )
    if filled.formula:
        specifications = [" + ".join(terms) for terms in filled.sets[1:]]
        cluster = f"# cluster = {_text(filled.cluster)}  # errors are clustered by it, if at all"
        known |= {
            "arms": f"# arms = {_texts(filled.arms)}  #",
            "cluster": cluster,
            "specifications": f"# specifications = {_texts(specifications)}  #",
        }
    return known


def _derived(filled: Prefill) -> str:
    """Return what do-files make of columns, and by name what the study does not carry out."""
    prepared = _prepared(filled)
    lines = [f"# {name}: {_one_line(why)}" for name, why in filled.refused.items()]
    if lines:
        lines = ["# These columns of the do-files are not carried out:", *lines[:_MOST_REFUSED], ""]
    if filled.derived:
        lines += [
            "[derived]",
            "# What the do-files make of columns, row by row: by their lines.",
            "# Bounds and levels follow from those of the columns inside, where they follow.",
        ]
    for one in filled.derived:
        lines += [f"# {_places(one.places)}", f"{_key(one.name)} = {_text(one.expression)}"]
    return "\n".join([*prepared, *lines, "", ""]) if prepared or lines else ""


def _prepared(filled: Prefill) -> list[str]:
    """Return what do-files do to rows, as comments: one study has one file of rows."""
    if not filled.prepared:
        return []
    lines = list(_ROWS)
    for k, one in enumerate(filled.prepared, 1):
        lines += [f"# List {k}:"] if len(filled.prepared) > 1 else []
        for step in one.steps:
            lines += [
                f"# {_places([step.place])}",
                "# [[prepare]]",
                *(f"# {x}" for x in _step(step)),
            ]
    return [*lines, ""]


def _step(one: Restacked) -> Iterator[str]:
    """Yield the keys of a step, and what ``[unit]`` then says."""
    if one.how == "append":
        yield f"append = {_text(one.by)}"
        yield "# [unit] id, and max_rows: the most rows of one person in both files together"
    elif one.how == "merge":
        yield f"merge = {_text(one.by)}"
        yield f"on = {_texts(one.parts) if len(one.parts) > 1 else _text(one.parts[0])}"
        yield "# complete = true: if it is public that each row of the data finds its key in it"
    elif one.how == "collapse":
        pairs = [part.partition(" ")[::2] for part in one.parts]
        named = [(how, *said.partition("=")[::2]) for how, said in pairs]
        made = (f"{_key(new)} = {_text(how if new == old else f'{how} {old}')}"
                for how, new, old in named)  # fmt: skip
        yield f"collapse = {{{', '.join(made)}}}"
        yield f"by = {_texts(one.by.split())}"
        yield f"# [unit] name and id are the group: {one.by}; all of its people are protected"
    else:
        yield f"reshape = {_text(one.how.partition(' ')[2])}"
        yield f"columns = {_texts(one.parts)}"
        yield f"id = {_text(one.by)}"
        yield f"wave = {_text(one.wave)}"
        yield f"waves = [{', '.join(f'{wave:g}' for wave in one.waves)}]"
        rows = f", max_rows = {len(one.waves)}" if one.waves else ""
        yield f"# [unit] id = {_text(one.by)}{rows}"


def _places(places: Sequence[tuple[str, int]]) -> str:
    """Return do-files and lines, in words."""
    more = f"; {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
    return "; ".join(f"{_one_line(f)}, line {n}" for f, n in places[:_MOST_PLACES]) + more


def _made(one: Derived, filled: Prefill) -> str:
    fate, asked = _fate(one.name, filled), _conditions(one.name, filled)
    if fate.startswith("#") and asked:
        known = " and ".join(sorted(one.parents))
        fate = _blank("# ", 'fate = "public"', f"if {known} is; needed by {asked}")
    lines = [
        f"[columns.{_key(one.name)}]",
        f"# derived: {_one_line(one.expression)}"[:100],
        fate,
        _blank("# ", "bounds = [ , ]", "where they do not follow from the columns inside"),
    ]
    return "\n" + "\n".join(lines) + "\n"


def _conditions(name: str, filled: Prefill) -> str:
    """Return the places of regressions with a column in a condition or product; empty if none."""
    found = (
        one.places
        for one in filled.regressions
        if name in re.findall(r"\w+", one.where + " " + one.formula * one.crossed)
    )
    return _places([place for places in found for place in places])


def _public_waves(after: Prefill, arms: Collection[str]) -> Iterator[str]:
    """Yield the fates of columns in conditions that are public by what the study does to rows."""
    waves = {step.wave for step in after.steps if step.how == "reshape long"}
    made = [one.name for one in after.derived if one.parents <= {*waves, *arms}]
    for name in (*sorted(waves), *made):
        if asked := _conditions(name, after):
            why = "the wave" if name in waves else "made of the wave"
            yield f"[columns.{_key(name)}]"
            yield _blank("", 'fate = "public"', f"{why}; needed by {asked}")


def _method(*, effects: bool) -> str:
    """Return the line of the method, with the others as its comment."""
    chosen, said = (
        ("calibrated", 'a file that keeps the effects; "moments" gives numbers')
        if effects
        else ("mv_histogram", 'a table without effects; "calibrated" and "moments" have them')
    )
    others = [key for key in METHODS if _text(key) not in said and key not in {chosen, *UNPROMISED}]
    listed = f"Others: {', '.join(map(_text, others))}: see docs/study_file.md"
    lines = [
        f"{f'method = {_text(chosen)}':<35}# {said}",
        *(f"# {text}" for text in textwrap.wrap(listed, 96, break_on_hyphens=False)),
    ]
    return "\n".join(lines)


def _formula_of_roles(schema: Schema) -> str:
    """Return outcomes on arms, as the roles of the columns name them; empty if they do not."""
    outcomes, arms = (
        [column.name for column in schema.columns if column.role == role]
        for role in ("outcome", "treatment")
    )
    return f"{' + '.join(outcomes)} ~ {' + '.join(arms)}" if outcomes and arms else ""


def _table(part: TablePart, filled: Prefill) -> str:
    lines = ["[[table]]", f"name = {_text(part.name)}", f"outcomes = {_texts(part.outcomes)}"]
    lines.append(f"arms = {_texts(part.arms or filled.arms)}")
    if part.covariates:
        lines.append(f"covariates = {_texts(part.covariates)}")
    if part.cluster:
        lines += ['errors = "cluster"', f"cluster = {_text(part.cluster)}"]
    elif part.errors:
        lines.append(f"errors = {_text(part.errors)}")
    if part.where:
        lines.append(f"where = {_text(part.where)}")
    samples = [f"# some of its regressions use: {_one_line(sample)}" for sample in part.samples[:9]]
    return "\n" + "\n".join([*samples, *lines]) + "\n"


def _regressions(filled: Prefill) -> str:
    """Return the regressions of the do-files as comments, since a draft has another method."""
    lines = _drafted(filled.regressions)
    for k, after in enumerate(filled.prepared, 1):
        if after.regressions:
            which = f"list {k} of" if len(filled.prepared) > 1 else "the"
            lines += ["", f"With {which} [[prepare]] above:"]
            lines += [f"{_key(x.name)} = {_text(x.expression)}   # in [derived]"
                      for x in after.derived if x not in filled.derived]  # fmt: skip
            lines += _public_waves(after, filled.arms)
            lines += _drafted(after.regressions)
    return _REGRESSIONS + "".join(f"# {line}".rstrip() + "\n" for line in lines) if lines else ""


def _drafted(regressions: Iterable[Printed]) -> list[str]:
    """Return the lines of regressions, each after an empty one."""
    lines = []
    for one in regressions:
        what = "a product" if one.crossed else "an instrument" if "[" in one.formula else ""
        public = what and one.where
        note = [f"only if all columns of its where are public: it has {what}"] if public else []
        lines += ["", _places(one.places), *note, *regression_lines(one)]
    return lines


def regression_lines(one: Printed) -> list[str]:
    """Return a regression as a study file declares it."""
    keys = {"formula": one.formula, "family": one.family, "where": one.where,
            "weights": one.weights, "cov_type": one.cov_type}  # fmt: skip
    lines = [f"{key} = {_text(value)}" for key, value in keys.items() if value]
    if one.cluster:
        several = len(one.cluster) > 1
        lines.append(f"cluster = {_texts(one.cluster) if several else _text(one.cluster[0])}")
    return ["[[regression]]", *lines, *(["count_effects = true"] if one.count_effects else [])]


def _texts(values: Iterable[str]) -> str:
    return "[" + ", ".join(map(_text, values)) + "]"


def _relative(data: Path, folder: Path) -> Path:
    try:
        return Path(os.path.relpath(data.absolute(), folder))
    except ValueError:  # another drive, on Windows
        return data.absolute()


def _dataset_id(stem: str) -> str:
    """Return a data set's id made of its file's name: a safe file name itself."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", stem).strip("-._")[:_LONGEST_ID].strip("-._")
    try:
        return checked_id(name)
    except ParameterError:
        return f"data-{name}".strip("-.")


def _column(
    schema: Schema,
    column: Column,
    filled: Prefill | None,
    whole: Collection[str],
    *,
    is_withheld: bool,
) -> str:
    about = " ".join(part for part in (column.type, column.format, shown(column.label)) if part)
    lines = [f"[columns.{_key(column.name)}]", f"# {_one_line(about)}"]
    if is_withheld or column.locates:
        lines.append(_blank("", 'fate = "withheld"', 'or "key", "drop"'))
        if not column.locates:
            words = 'every possible text; the fate may then be "modelled"'
            lines.append(_blank("# ", "levels = []", words))
    else:
        lines.append(_fate(column.name, filled))
        is_whole = column.name in whole
        possible = _blank("# ", "levels = []", "every possible text, to model it")
        lines += [possible] if column.is_text else _number_blanks(schema, column, is_whole)
    return "\n" + "\n".join(lines) + "\n"


def _fate(name: str, filled: Prefill | None) -> str:
    if filled is not None and filled.formula:
        if name in filled.of_arms:
            return _blank("", 'fate = "public"', "made of arms alone")
        if name in filled.arms:
            return _blank("", 'fate = "public"', "an arm; its levels, such as [0, 1], are public")
        if name in filled.outcomes:
            return _blank("", 'fate = "modelled"', "an outcome")
        covariates = {term for terms in filled.sets for term in terms}
        if name in covariates or f"C({name})" in covariates:
            return _blank(
                "", 'fate = "modelled"', "a covariate: fixed before assignment, not made from arms"
            )
    return _blank("# ", 'fate = ""', "modelled, filler, withheld, key, public, drop")


def implied(schema: Schema, column: Column) -> tuple[list[int], list[str]]:
    """Return the levels and missing codes that value labels suggest; a person must confirm them.

    Examples
    --------
    >>> from dprct.schema import Column, Schema
    >>> implied(Schema((Column("age", "byte"),)), Column("age", "byte"))
    ([], ['.'])
    """
    labels = schema.labels_of(column.name)
    codes = [code for code in labels if isinstance(code, int)]
    return codes, [".", *(code for code in labels if isinstance(code, str) and code != ".")]


def _number_blanks(schema: Schema, column: Column, is_whole: bool) -> list[str]:
    codes, missing = implied(schema, column)
    if codes:
        lines = [_blank("# ", f"levels = {codes}", "the labelled codes; are there others?")]
    else:
        lines = [
            _blank("# ", "bounds = [ , ]", "smallest and largest possible, or levels = [0, 1]"),
            _blank("# ", "bins = 5", "or inner edges, such as [20, 30, 40]"),
        ]
        if is_whole:
            lines.append(
                _blank("", "integer = true", "so in the rows; keep it only if they must be")
            )
        elif column.type in FLOAT_LIMITS:
            lines.append(_blank("# ", "integer = true", "if all values are whole numbers"))
    lines.append(_blank("# ", f"missing = {json.dumps(missing)}", 'or "never"'))
    if column.looks_constructed:
        lines.append(_blank("# ", 'built_from = ""', '"own", or "cohort" if other rows enter'))
    return lines


def _blank(mark: str, fact: str, comment: str) -> str:
    return f"{mark + fact:<34} # {comment}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(value: str) -> str:
    """Return a TOML string; what TOML may not hold as it is stands as an escape."""
    return '"' + "".join(_escaped(character) for character in shown(value)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() else f"\\U{ord(character):08X}"


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
