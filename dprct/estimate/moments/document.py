"""``study.moments.json``: a release of moments as a document, written and read again."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, fields, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dprct import disk
from dprct.annotations import DOCUMENT, DocumentPartError
from dprct.disk import atomic_write, file_error, path_of
from dprct.errors import DprctError, FileError, SimulationError
from dprct.estimate.moments.content import MomentsContent
from dprct.estimate.moments.declared import (
    Declared,
    DrawnCross,
    DrawnStep,
    Family,
    Instrumented,
)
from dprct.estimate.moments.groups import Group
from dprct.estimate.moments.index_models import DrawnIndex, IndexModel
from dprct.estimate.moments.layout import Layout, Place, scaled
from dprct.estimate.moments.one_step import EFFECTS
from dprct.estimate.moments.release import (
    SCORES,
    DrawnMoments,
    allocation_of,
    gaussian_of,
    moments_of,
    shared_allocation,
)
from dprct.estimate.moments.robust_errors import SHARE, DrawnScores
from dprct.estimate.moments.variables import WITHIN, Atom, variable_of
from dprct.formula import parse
from dprct.missing import MISSING_CODES
from dprct.privacy.budget import Guarantee
from dprct.queries.group_moments import MomentsGrid, Part
from dprct.schema import Column, FileFacts, Schema
from dprct.schema.columns import shown
from dprct.schema.conditions import condition
from dprct.schema.facts import check_storage_type, is_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from dprct.estimate.moments.reading import ReleasedMoments
    from dprct.schema.columns import Code

VERSION = 7

Public = TypeVar("Public", Declared, Instrumented, Family, IndexModel)

LARGEST = 200 << 20
"""Bytes of a document that are read at most."""

DIGEST = "digest of the content"
"""The fact of a certificate that says which numbers it is of, however a document is laid out."""

_LEAST_NOISE = 0.999
"""Share of the noise that a guarantee needs, by this version's arithmetic, below which a document
is not one of ours."""


def document_of(moments: ReleasedMoments) -> dict[str, Any]:
    """Return a release as JSON-ready values; see ``moments.schema.json``."""
    from dprct import __version__

    if moments.guarantee.simulation:
        raise SimulationError(
            "a seed was given, so this is a simulation and no file is written; fit without rng to "
            "release"
        )
    layout, drawn = moments.layout, moments.drawn
    content: dict[str, Any] = {
        "moments": VERSION,
        "dprct": __version__,
        "method": moments.method,
        "dataset_id": moments.schema.dataset_id,
        "n": moments.n,
        "guarantee": moments.guarantee.to_dict(),
        "ledger": moments.ledger,
        "schema": {"sha256": moments.facts_sha256, "sealed": moments.sealed},
        "columns": {
            column.name: _column(column, moments.schema.labels_of(column.name))
            for column in moments.schema.columns
        },
        "variables": [_variable(place) for place in layout.places],
        "layout": {
            "radius": layout.radius,
            "shrunk_radius": layout.shrunk_radius,
            "constant": layout.grid.constant,
            "count": layout.grid.count,
            "rows": layout.grid.rows,
        },
        "treatment": list(moments.treatment),
        "subgroups": list(moments.subgroups),
        "arms": list(moments.arms),
        "outcomes": list(moments.outcomes),
        "totals": list(moments.totals),
        "groups": [_group(group) for group in moments.groups],
        "sigma": drawn.sigma,
        "sums": [list(map(int, _upper(matrix))) for matrix in drawn.sums],
        "scores": [
            {
                "outcome": one.outcome,
                "regressors": list(one.regressors),
                "sigma": one.sigma,
                "sums": list(map(int, _upper(one.sums))),
            }
            for one in drawn.scores
        ],
    }
    if drawn.clipped is not None:
        content["layout"]["clipped"] = layout.grid.clipped
        content["clipped"] = list(drawn.clipped)
    if layout.grid.weight is not None:
        content["layout"]["weights"] = [layout.grid.weight.column.name, layout.grid.weight.fill]
    if moments.declared:
        content["declared"] = {
            "share": drawn.share,
            "withheld": moments.withheld,
            "regressions": [
                {**_asked(one), "drawn": _drawn_numbers(step)}
                for one, step in zip(moments.declared, drawn.steps, strict=True)
            ],
        }  # fmt: skip
    if moments.instrumented:
        content["declared"]["instrumented"] = [
            {**asdict(one), "drawn": _numbers(sampling=cross.sampling, spread=cross.spread)}
            for one in moments.instrumented
            for cross in (drawn.cross(one.reduced, one.first),)
        ]  # fmt: skip
    if moments.families:
        content["declared"]["joint"] = [
            {"name": one.name, "members": list(one.members),
             "drawn": [
                 {"alike": c.alike, **_numbers(sampling=c.sampling, spread=c.spread)}
                 for c in (drawn.cross(*pair) for pair in one.pairs)
             ]}
            for one in moments.families
        ]  # fmt: skip
    if moments.models:
        content["models"] = {
            "share": drawn.share,
            "of_index": [
                {**_asked(one), "drawn": _drawn_index(found)}
                for one, found in zip(moments.models, drawn.models, strict=True)
            ],
        }  # fmt: skip
    return {**content, "digest": digest_of(content)}


def _numbers(**released: Any) -> dict[str, list[float | None]]:
    """Released numbers, row by row; null what no number is, and nothing of what there is not."""
    return {
        key: [x if math.isfinite(x) else None for x in np.ravel(one).tolist()]
        for key, one in released.items()
        if one is not None
    }


def _drawn_index(drawn: DrawnIndex) -> dict[str, Any]:
    """Released numbers of a model of an index."""
    found = _numbers(
        params=drawn.params, sampling=_upper(drawn.sampling), noise=_upper(drawn.noise),
        eta2=drawn.eta2, remainder=drawn.remainder, range=drawn.range, nobs=drawn.nobs,
        mean=drawn.mean, spread=_upper(drawn.spread),
    )  # fmt: skip
    return {key: one[0] if key in _SINGLE else one for key, one in found.items()}


_SINGLE = ("eta2", "remainder", "nobs")


def _asked(one: Declared | IndexModel) -> dict[str, Any]:
    """Public part of a regression; no condition where it has none."""
    return {key: value for key, value in asdict(one).items() if value is not None}


def _drawn_numbers(step: DrawnStep) -> dict[str, Any]:
    """Released numbers of a regression."""
    return _numbers(
        params=step.params, sampling=_upper(step.sampling), spread=_upper(step.spread),
        noise=step.noise, basis=step.basis, covariance=_upper(step.covariance), rows=step.rows,
    )  # fmt: skip


def _upper(matrix: Any) -> Any:
    """Return the upper triangle of a symmetric matrix, row by row; None of none."""
    return None if matrix is None else matrix[np.triu_indices(len(matrix))]


def digest_of(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a document without its digest."""
    rest = {key: value for key, value in content.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def write_document(moments: ReleasedMoments, path: str | Path) -> Path:
    """Write a release; whole or not at all."""
    target = path_of(path)
    text = text_of(document_of(moments))
    with atomic_write(target, "w") as file:
        file.write(text)
    return target


def text_of(content: Mapping[str, Any]) -> str:
    """Return a document as it is written."""
    return json.dumps(dict(content), indent=1, ensure_ascii=False) + "\n"


def content_of(path: Path) -> dict[str, Any] | None:
    """Content of a document, unchecked; None if it is no document of moments."""
    if path.is_symlink() or not path.is_file():
        return None
    try:
        found = json.loads(disk.content(path, LARGEST), parse_constant=_no_constant)
    except (OSError, ValueError, RecursionError, FileError):
        return None
    return found if isinstance(found, dict) and "moments" in found else None


def read_document(path: str | Path) -> dict[str, Any]:
    """Return the parts of a release that a document holds, by the names of ``Moments``."""
    source = path_of(path)
    try:
        text = disk.content(source, LARGEST).decode("utf-8")
    except OSError as error:
        raise file_error(error, source, "read") from None
    except UnicodeDecodeError:
        raise _no_document(source.name, "it is not text in UTF-8") from None
    try:
        content = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise _no_document(source.name, "it is not JSON") from None
    return parts_of(content, source.name)


def parts_of(content: Any, name: str) -> dict[str, Any]:
    """Return the parts of a release that the content of a document says; ``name`` is its file's."""
    if not isinstance(content, dict) or "moments" not in content:
        raise _no_document(name, "it has no key 'moments'")
    version = content["moments"]
    if type(version) is not int or version != VERSION:
        raise _no_document(name, f"its version is not {VERSION}; use the dprct that wrote it")
    if content.get("digest") != digest_of(content):
        raise FileError(
            f"{name} was changed after it was written: its digest is not that of its "
            "content; get it again from whoever published it"
        )
    try:
        return _read(DOCUMENT.content(content, MomentsContent))
    except (DprctError, KeyError, TypeError, ValueError, IndexError, ArithmeticError,
            AssertionError, RecursionError) as error:  # fmt: skip
        said = isinstance(error, (DprctError, DocumentPartError))
        raise _no_document(name, str(error) if said else "a part of it is wrong") from None


def _no_document(name: str, why: str) -> FileError:
    return FileError(
        f"{name} is not a file of released moments ({why}); give one that Moments.save wrote"
    )


def _no_constant(text: str) -> float:
    raise ValueError(text)


def _column(column: Column, labels: Mapping[Code, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"type": column.type, "label": column.label}
    found["bounds"] = None if column.bounds is None else [float(x) for x in column.bounds]
    found["levels"] = None if column.levels is None else list(map(_plain, column.levels))
    found["missing"] = None if column.missing is None else list(column.missing)
    # of a header that nobody confirmed they may not be public; codes as Stata has them
    told = {code: shown(words) for code, words in labels.items()
            if isinstance(code, str) or abs(code) < 1 << 31}  # fmt: skip
    if column.confirmed and told:
        found["labels"] = [[code, words] for code, words in told.items()]
    return found


def _plain(level: float | str) -> float | str:
    return level if isinstance(level, str) else float(level)


def _variable(place: Place) -> dict[str, Any]:
    parts = [[p.column.name, p.level, p.fill] for p in place.variable.parts]
    less = place.variable.within
    return ({} if less is None else {"within": less}) | {
        "name": place.variable.name,
        "parts": parts,
        "centre": place.centre,
        "scale": place.scale,
        "weight": place.weight,
        "exempt": place.exempt,
        "declared": place.declared,
    }


def _group(group: Group) -> dict[str, Any]:
    return {
        "arm": group.arm,
        "values": [list(pair) for pair in group.values],
        "absent": list(group.absent),
        "rows": group.rows,
        "told": group.told,
    }


def _read(content: Mapping[str, Any]) -> dict[str, Any]:
    """Content of a document, checked against itself."""
    schema = _schema(content["columns"], content["dataset_id"])
    places = tuple(_place(facts, schema) for facts in content["variables"])
    layout = _layout(places, content["layout"], schema)
    groups = tuple(Group(**facts) for facts in content["groups"])
    guarantee = Guarantee.from_dict(content["guarantee"])
    str(guarantee)  # refuses numbers that cannot be printed
    sigma = content["sigma"]
    scores = tuple(_scores(facts) for facts in content["scores"])
    declared, steps, share, withheld = _declared(content)
    instrumented, crosses = _instrumented(content, declared)
    families, across = _families(content, declared)
    models, found_models, beside = _models(content)
    _require(not share or not beside or share == beside, "two shares of moments do not agree")
    share = share or beside
    _check_noise(guarantee, layout.grid, len(groups), sigma, scores, share)
    _require(all(one.outcome in layout.names for one in models), "an outcome was not released")
    _require(all(one.outcome in layout.names for one in declared), "an outcome was not released")
    clipped = None
    if layout.grid.clipped:
        clipped = content["clipped"]
        _require(len(clipped) == len(groups), "shares of rows outside the ball are not complete")
    width = len(places) + 1
    _require(len(content["sums"]) == len(groups) > 0, "sums and groups are not as many")
    sums = np.array([_matrix(numbers, width) for numbers in content["sums"]], dtype=object)
    for matrix, group in zip(sums, groups, strict=True):
        moments_of(layout, matrix, sigma, group.rows)  # refuses what is not finite
    n, totals = content["n"], content["totals"]
    _require(sum(totals) <= n and len(groups) % len(totals) == 0, "rows and groups do not agree")
    for group in groups:
        _require(
            (group.rows is None) == layout.grid.count, "rows of a group are given and released"
        )
    drawn = DrawnMoments(
        sums, sigma, scores, clipped, steps, share, (*crosses, *across), found_models
    )
    told = {name for key in ("treatment", "subgroups") for name in content[key]}
    for group in groups:
        _require(told <= dict(group.values).keys(), "a group does not say what is in it")
    same = ("arms", "treatment", "subgroups", "outcomes", "n", "ledger", "method")
    return {
        **{name: content[name] for name in same},
        "schema": schema,
        "layout": layout,
        "groups": groups,
        "totals": totals,
        "drawn": drawn,
        "guarantee": guarantee,
        "facts_sha256": content["schema"]["sha256"],
        "sealed": content["schema"]["sealed"],
        "declared": declared,
        "withheld": withheld,
        "instrumented": instrumented,
        "families": families,
        "models": models,
    }


def _schema(columns: Mapping[str, Any], dataset_id: str | None) -> Schema:
    """Public facts of the columns; labels are read as confirmed, for only such are written."""
    found, sets = [], {}
    for name, facts in columns.items():
        check_storage_type(facts["type"], name)
        text = is_text(facts["type"])
        known = facts["levels"] or ()
        _require(
            all(isinstance(level, str) is text for level in known), "a level is of another type"
        )
        given = {key: of for key, of in facts.items() if key != "labels"}
        column = Column(name, **given, built_from="own")
        if "labels" in facts:
            sets[name] = _labels(facts["labels"])
            _require(not text, "a column of text has labels")
            column = replace(column, value_label=name, confirmed=True)
        found.append(column)
    file = FileFacts(value_labels=MappingProxyType(sets))
    return Schema(tuple(found), file, dataset_id=dataset_id)


def _labels(pairs: Sequence[tuple[Code, str]]) -> dict[Code, str]:
    found = dict(pairs)
    _require(
        all(code in MISSING_CODES for code in found if isinstance(code, str)),
        "the code of a label is neither a number nor a missing code",
    )
    _require(len(found) == len(pairs), "a code has two labels")
    return found


def _place(facts: Mapping[str, Any], schema: Schema) -> Place:
    atoms, fills = [], {}
    for name, level, fill in facts["parts"]:
        atoms.append(Atom(name, level))
        if fill is not None:
            fills[name] = fill
    if "within" in facts:
        atoms.append(Atom(facts["within"], WITHIN))
    variable = variable_of(facts["name"], atoms, schema, fills)
    keys = ("centre", "scale", "weight", "exempt", "declared")
    found = Place(variable, *(facts[key] for key in keys))
    low, high = variable.span
    _require(low <= found.centre <= high, "a centre is outside the bounds")
    return found


def _layout(places: tuple[Place, ...], facts: Mapping[str, Any], schema: Schema) -> Layout:
    radius = facts["radius"]
    names = [place.variable.name for place in places]
    _require(len(set(names)) == len(names) > 0, "a column is there twice, or none")
    columns = tuple(scaled(place, radius) for place in places)
    grid = MomentsGrid(
        columns,
        facts["constant"],
        facts["count"],
        facts["rows"],
        facts.get("clipped", 0),
        _weight(facts["weights"], schema) if "weights" in facts else None,
    )
    return Layout(places, radius, facts["shrunk_radius"], grid)


def _weight(facts: Any, schema: Schema) -> Part:
    name, fill = facts
    return Part(schema.column(name), fill=fill)


def _scores(facts: Mapping[str, Any]) -> DrawnScores:
    regressors = facts["regressors"]
    _require(len(set(regressors)) == len(regressors) > 0, "a regressor is there twice, or none")
    sums = _matrix(facts["sums"], len(regressors))
    return DrawnScores(facts["outcome"], regressors, sums, facts["sigma"])


def _declared(
    content: Mapping[str, Any],
) -> tuple[tuple[Declared, ...], tuple[DrawnStep, ...], str, str]:
    """Return the declared regressions of a document and what was released of them."""
    if "declared" not in content:
        return (), (), "", ""
    facts = content["declared"]
    found, steps = [], []
    for one in facts["regressions"]:
        low, high = one.bounds
        _require(low < high, "bounds of an outcome are not in order")
        q = len(one.terms)
        _require(len(set(one.terms)) == q > 0, "a coefficient is there twice, or none")
        made = _public(one, Declared)
        made = replace(made, where=None if made.where is None else condition(made.where))
        _require(made.df > 0, "a regression has no degrees of freedom")
        two = made.ways is None or (len(made.clusters) == 2 and min(made.ways) == made.groups)
        _require(two and not (made.ways and made.joint), "clusters of two ways do not agree")
        numbers = one.drawn
        several = "basis" in numbers
        params, noise = (np.array(numbers[key], np.float64) for key in ("params", "noise"))
        # products with covariates that hardly vary have no coefficients
        there = several or not np.isnan([*params, *noise]).any()
        _require(
            there and len(params) == len(noise) == q and not (noise <= 0).any(),
            "a coefficient is missing",
        )
        basis, covariance = None, None
        if several:
            _require(len(numbers["basis"]) == q * q, "the combinations are not complete")
            basis = np.array(numbers["basis"], np.float64).reshape(q, q)
            lost = bool(np.isnan(basis).any())
            _require(lost == bool(np.isnan(params).any()), "a coefficient is missing")
            known = [0.0 if lost else x for x in numbers["covariance"]]
            covariance = _square(known, q, True) * (math.nan if lost else 1.0)
        sampling = _square(numbers["sampling"], q, made.joint)
        spread = _square(numbers["spread"], q, True)
        least = np.diag(spread) if made.classical else spread  # of one draw, covariances have signs
        _require(bool((least > 0).all()), "the noise of a variance is missing")
        found.append(made)
        (rows,) = numbers.get("rows", (None,))
        rows = math.nan if rows is None and "rows" in numbers else rows
        steps.append(DrawnStep(params, sampling, spread, noise, basis, covariance, rows))
    _check_names([one.title for one in found])
    return tuple(found), tuple(steps), facts["share"], facts["withheld"]


def _models(
    content: Mapping[str, Any],
) -> tuple[tuple[IndexModel, ...], tuple[DrawnIndex, ...], str]:
    """Return the models of an index of a document and what was released of them."""
    if "models" not in content:
        return (), (), ""
    models, drawn = [], []
    for one in content["models"]["of_index"]:
        model = _public(one, IndexModel)
        model = replace(model, where=None if model.where is None else condition(model.where))
        k, numbers = len(model.terms), one.drawn
        _require(len({*model.terms}) == k > 0, "a coefficient is there twice, or none")
        _require(
            (model.second is None) == (model.ways is None), "clusters of two ways do not agree"
        )
        several = parse(model.formula, structural=True).outcome_names != (model.outcome,)
        _require(not several and model.largest > 0, "a model of an index has another outcome")
        found, span = (np.array(numbers[key], np.float64) for key in ("params", "range"))
        _require(len(found) == len(span) == k and bool((span > 0).all()),
                 "a coefficient is missing")  # fmt: skip
        sampling, noise = (
            _square([math.nan if x is None else x for x in numbers[key]], k, True)
            for key in ("sampling", "noise")
        )
        eta2, remainder, nobs = (
            math.inf if numbers[key] is None else float(numbers[key]) for key in _SINGLE
        )
        _require(nobs < math.inf, "the rows of a model are missing")
        made = DrawnIndex(found, sampling, noise, eta2, remainder, span, nobs)
        if not model.whole:
            _require(len(numbers.get("mean", ())) == k, "a mean of a regressor is missing")
            mean = np.array(numbers["mean"], np.float64)
            made = replace(made, mean=mean, spread=_square(numbers.get("spread", ()), k, True))
        models.append(model)
        drawn.append(made)
    _check_names([one.title for one in models])
    return tuple(models), tuple(drawn), content["models"]["share"]


def _instrumented(
    content: Mapping[str, Any], declared: Sequence[Declared]
) -> tuple[tuple[Instrumented, ...], tuple[DrawnCross, ...]]:
    """Return the regressions with an instrument of a document, and what was released of them."""
    found, crosses = [], []
    for one in content.get("declared", {}).get("instrumented", []):
        made = _public(one, Instrumented)
        _require(
            max(made.reduced, made.first) < len(declared), "a stage of a regression is missing"
        )
        stages = declared[made.reduced], declared[made.first]
        _require(
            len(stages[0].terms) == 1 and stages[0].terms == stages[1].terms,
            "the stages of a regression have other instruments",
        )
        found.append(made)
        crosses.append(_cross((made.reduced, made.first), one.drawn, declared))
    _check_names([one.title for one in found])
    return tuple(found), tuple(crosses)


def _families(
    content: Mapping[str, Any], declared: Sequence[Declared]
) -> tuple[tuple[Family, ...], tuple[DrawnCross, ...]]:
    """Return the families of regressions of a document that are tested together."""
    found, crosses = [], []
    for one in content.get("declared", {}).get("joint", []):
        made = _public(one, Family)
        _require(
            len({*made.members}) == len(made.members) > 1 and max(made.members) < len(declared),
            "a regression of a family is missing",
        )
        _require(len(one.drawn) == len(made.pairs), "covariances of a family are missing")
        crosses += [_cross(*pair, declared) for pair in zip(made.pairs, one.drawn, strict=True)]
        found.append(made)
    _check_names([one.name for one in found])
    return tuple(found), tuple(crosses)


def _cross(
    pair: tuple[int, int], numbers: Mapping[str, Any], declared: Sequence[Declared]
) -> DrawnCross:
    """What was released of how two regressions vary together."""
    shape = len(declared[pair[0]].terms), len(declared[pair[1]].terms)
    sampling, spread = (np.array(numbers[key], np.float64) for key in ("sampling", "spread"))
    alike = numbers.get("alike", True)
    _require(
        len(sampling) == len(spread) == math.prod(shape) and bool((spread > 0).all())
        and (not alike or shape[0] == shape[1]),
        "covariances of two regressions are not complete",
    )  # fmt: skip
    return DrawnCross(*pair, sampling.reshape(shape), spread.reshape(shape), alike)


def _public(one: Any, made: type[Public]) -> Public:
    """What is public of a regression: all but what was drawn."""
    return made(**{each.name: getattr(one, each.name) for each in fields(made)})


def _check_names(names: Sequence[str]) -> None:
    _require(len({*names}) == len(names), "two regressions, or families, have one name")


def _square(numbers: Any, q: int, whole: bool) -> Any:
    """Return a symmetric matrix of its upper triangle; NaN off the diagonal if not ``whole``."""
    _require(len(numbers) == q * (q + 1) // 2, "a covariance is not complete")
    found, values = np.full((q, q), math.nan), iter(numbers)
    for j in range(q):
        for k in range(j, q):
            value = next(values)
            _require((value is None) == (j != k and not whole), "a covariance is not complete")
            if value is not None:
                found[j, k] = found[k, j] = value
    return found


def _check_noise(
    guarantee: Guarantee,
    grid: MomentsGrid,
    groups: int,
    sigma: float,
    scores: tuple[DrawnScores, ...],
    share: str = "",
) -> None:
    """Refuse a document whose noise is smaller than its guarantee needs."""
    _require(guarantee.holds and guarantee.budget is not None, "it has no guarantee")
    assert guarantee.budget is not None
    sizes = [len(one.regressors) for one in scores]
    if share:
        of_moments = Fraction(share)
        left = 1 - of_moments - (SHARE if scores else 0)
        _require(of_moments > 0 and left > 0, "a share is not within 0 and 1")
        needed = shared_allocation(grid, groups, guarantee.budget, sizes, of_moments)
    else:
        needed = allocation_of(grid, groups, guarantee.budget, sizes)
    told = {SCORES.format(place): one.sigma for place, one in enumerate(scores, 1)}
    for part in (name for name in needed.parts if name != EFFECTS):
        enough = _LEAST_NOISE * gaussian_of(needed, part).noise_sd
        _require(told.get(part, sigma) >= enough, "its noise is smaller than its guarantee needs")


def _matrix(numbers: Any, width: int) -> Any:
    _require(len(numbers) == width * (width + 1) // 2, "sums of a group are not complete")
    found = np.zeros((width, width), dtype=object)
    found[np.triu_indices(width)] = numbers
    return found + np.triu(found, 1).T


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise FileError(otherwise)
