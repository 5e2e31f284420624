"""Count what the regressions of published do-files are worth on the best release of each kind.

Of each regression of the key it is asked what the rules leave of it if somebody made a release for
it alone: with data prepared before the release (merged, columns made and declared), with its
outcome, treatments, covariates and errors declared.  What is then an artefact no plan can serve.

Usage: python scripts/do_file_census.py FOLDER

FOLDER holds experiments/Replication*.do and regressions.json (Young's "Channelling Fisher").
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprct.certificate.valid_regressions import Validity
from dprct.dofile import read_files
from dprct.dofile.syntax import full_name
from dprct.dofile.varlists import bare_names
from dprct.study.verdicts import Released, terms_of, verdicts

if TYPE_CHECKING:
    from dprct.dofile import Reading, Regression
    from dprct.study.verdicts import Verdict

BOTH_ABSORB = {"xtreg": "areg"}
RANGE = re.compile(r"([A-Za-z_]+)(\d+)(\w*)-\1(\d+)\3")
LINEAR = frozenset({"regress", "areg", "reghdfe", "xtreg"})
EQUALITIES = re.compile(r"\(?\w+==-?\d+(?:\.\d*)?\)?(?:&\(?\w+==-?\d+(?:\.\d*)?\)?)*")
MADE_FOR = "trial.dta"
UNREAD = "its sample comes from the data"
RANGES = "a name that only the header writes out"


def written_out(words: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Return columns, numbered ranges written out: z2-z4 is z2, z3 and z4."""
    found: list[str] = []
    for word in words:
        ends = RANGE.fullmatch(word)
        numbers = range(int(ends[2]), int(ends[4]) + 1) if ends else ()
        found += [f"{ends[1]}{n}{ends[3]}" for n in numbers] if ends else [word]
    return tuple(dict.fromkeys(found))


def row_of(wanted: dict[str, Any], reading: Reading) -> Regression | None:
    """Return the estimation of a do-file that a regression of the key is."""
    name = full_name(wanted["command"])
    treatments = set(written_out(wanted["treatment"]))
    for row in reading:
        if (
            name in (row.command, BOTH_ABSORB.get(row.command) if row.absorb else "")
            and row.outcome == wanted["outcome"]
            and treatments <= set(written_out(row.regressors))
        ):
            return replace(
                row,
                regressors=written_out(row.regressors),
                treatments=written_out(wanted["treatment"]),
                absorb=written_out(row.absorb),
            )
    return None


def prepared(row: Regression) -> Regression:
    """Return a regression on data that were merged, and whose columns were made, before."""
    return replace(row, steps=(), derived={}, unknown=(), dataset=MADE_FOR, sources=())


def on_calibrated(row: Regression) -> Verdict:
    """Return what a regression is worth on a calibrated file that was made for it."""
    names = {
        name for word in (*row.regressors, *row.absorb, *row.cluster) for name in bare_names(word)
    }
    fates = dict.fromkeys([*names, str(row.outcome)], "modelled")
    arms = {name for word in row.treatments for name in bare_names(word)}
    own = tuple(term for term in terms_of(row) if term not in arms)
    cluster = row.cluster[0] if row.vce == "cluster" and row.cluster else None
    valid = Validity(
        outcomes=(str(row.outcome),),
        arms=tuple(row.treatments),
        covariates=(own,),
        cov_type="HC1" if cluster is None else "CR1",
        cluster=cluster,
    )
    return verdicts([row], Released(MADE_FOR, fates, valid))[0]


def reason_of(row: Regression | None, found: Verdict | None) -> str:
    """Return the reason of a verdict in the words of the census."""
    if row is None:
        return "not in these do-files"
    assert found is not None
    if found.kind == "valid":
        return "valid"
    why = found.reason
    if "not wholly read" in why:
        return UNREAD if row.status != "read" else RANGES
    if "ordinary least squares" in why or "instrumental" in why or "random effects" in why:
        return "another estimator"
    if "it uses the rows with" in why:
        plain = EQUALITIES.fullmatch(row.sample.replace(" ", "")) and not row.groups
        return "some rows: a == 1" if plain else "some rows: another condition, or by groups"
    if "weight" in why:
        return "weights"
    if "interaction" in why:
        return "interaction with treatment"
    if found.kind == "effects only":
        return "effects only: other errors"
    return RANGES if found.kind == "cannot run" else why


def census(folder: Path) -> dict[str, Counter[str]]:
    """Return how many regressions there are by reason: as they stand, and on prepared data."""
    key: dict[str, list[dict[str, Any]]] = {}
    for row in json.loads((folder / "regressions.json").read_text("utf-8")):
        key.setdefault(row["paper"], []).append(row)
    home = folder / "experiments"
    kinds = ("calibrated", "calibrated, these rows alone", "moments", "as they stand")
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    for paper, rows in key.items():
        reading = read_files([(home / f"Replication{paper}.do", home)])
        for wanted in rows:
            row = row_of(wanted, reading)
            ready = None if row is None else prepared(row)
            reason = reason_of(ready, None if ready is None else on_calibrated(ready))
            counts["calibrated"][reason] += 1
            alone = None if ready is None else replace(ready, sample="", groups="")
            of_these = reason_of(alone, None if alone is None else on_calibrated(alone))
            counts["calibrated, these rows alone"][of_these] += 1
            counts["moments"][on_moments(ready, reason)] += 1
            counts["as they stand"][what_it_needs(row)] += 1
    return counts


def on_moments(row: Regression | None, reason: str) -> str:
    """Return the same for moments that were made for a regression.

    Conditions a == 1 are groups, others can be made columns of 0 and 1, and products are
    released; instruments are served where there is
    one endogenous column.  A regression that asks for clusters needs these to be the units.
    """
    if row is None or reason in (UNREAD, RANGES):
        return reason
    if row.weights:
        return "weights"
    if row.endogenous:
        if row.cluster:
            return "instruments with clusters"
        served = len(row.endogenous) == 1
        if not served:
            return "another estimator"
    elif row.command not in LINEAR or (row.command == "xtreg" and not row.absorb):
        return "another estimator"
    if not row.intercept:
        return "no intercept"
    if len(row.cluster) > 1 or (row.sample and (row.cluster or row.vce == "robust")):
        return "effects only: other errors"
    if row.command in ("xtreg", "reghdfe") or row.vce not in ("", "classical", "robust", "cluster"):
        return "effects only: other errors"
    if row.groups or (row.sample and not EQUALITIES.fullmatch(row.sample.replace(" ", ""))):
        return "valid once the condition is a 0/1 column that makes groups"
    return "valid"


def what_it_needs(row: Regression | None) -> str:
    """Return what the do-files do to the data before a regression that a release would undo."""
    if row is None:
        return "not in these do-files"
    if row.unknown:
        return "a command that is not known"
    if row.steps:
        return f"rows: {row.steps[0]}"
    used = (row.outcome, *row.regressors, *row.absorb, *row.cluster)
    if any(name in row.derived for word in used for name in bare_names(str(word))):
        return "a column that the do-file makes"
    return "nothing"


def table(counts: Counter[str]) -> list[str]:
    """Return the rows of a table, the largest number first."""
    return [f"| {reason} | {number} |" for reason, number in counts.most_common()]


def main(folder: Path) -> None:
    """Print the census."""
    for kind, counts in census(folder).items():
        print(f"\n| {kind} | regressions |\n|---|---|")
        print("\n".join(table(counts)))
        print(f"| all | {sum(counts.values())} |")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]))
