"""``dprct ols``: a regression on released moments, by whoever has the file and no data."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dprct.cli.show import say, working
from dprct.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.estimate.moments.results import Moments


def ols(
    file: Annotated[Path, typer.Argument(help="Released moments, such as study.moments.json.")],
    formula: Annotated[
        str | None,
        typer.Argument(
            help='Such as "wage ~ treat + age"; what was released is printed without one.'
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", help="Among one group alone: COLUMN=LEVEL; may be given again."),
    ] = None,
    cov_type: Annotated[str | None, typer.Option(help='Errors: "by group" or "nonrobust".')] = None,
    effects: Annotated[
        bool, typer.Option("--effects", help="Effects of the arms instead of a regression.")
    ] = False,
    joint: Annotated[
        str | None,
        typer.Option(
            "--joint", help="Declared regressions together, by the label of their family."
        ),
    ] = None,
    margins: Annotated[
        str | None,
        typer.Option(
            "--margins",
            help="Average marginal effects as after a logit or poisson, of a declared regression; "
            "with --family of a regressor, such as treat.",
        ),
    ] = None,
    family: Annotated[
        str | None,
        typer.Option("--family", help="A declared logit, probit or poisson, by private scoring."),
    ] = None,
    ratios: Annotated[
        bool, typer.Option("--ratios", help="Odds ratios of a logit, rate ratios of a poisson.")
    ] = False,
    test: Annotated[
        list[str] | None,
        typer.Option("--test", help='Test of coefficients, such as "t1 = t2"; may be given again.'),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Read a regression off released moments; its errors contain the noise. No data are needed."""
    from dprct.estimate import Moments

    with working("reading"):
        moments = Moments.load(file)
        if (formula is not None) + effects + (joint is not None) > 1:
            raise ParameterError("--effects and --joint take no formula; give one of them")
        index = formula is not None and (family is not None or _is_model(moments, formula))
        if (family is not None or ratios) and (not index or where or cov_type):
            raise ParameterError(
                "--family and --ratios are of a declared logit, probit or poisson; give its name "
                "or formula, and neither --where nor --cov-type"
            )
        if index and ratios + (margins is not None) + bool(test) > 1:
            raise ParameterError(
                "--ratios, --margins and --test of a logit, probit or poisson print one thing "
                "each; give one of them"
            )
        if margins is not None and (formula is None or where or cov_type):
            raise ParameterError(
                "--margins are those of a declared regression, with its own rows and errors; give "
                "its name or formula, and neither --where nor --cov-type"
            )
        if formula is None and not effects and joint is None:
            say(json.dumps(_described(moments), indent=2) if as_json else moments.summary())
            return
        chosen = None
        if formula is None or (asked := _declared(moments, formula, where or [])) is None:
            chosen = _groups(moments, where or [])
        else:
            formula = asked
        found: Any = (
            moments.joint(joint)
            if joint is not None
            else moments.effects(where=chosen)
            if formula is None
            else _index_model(moments, formula, family, margins)
            if index
            else moments.margins(formula, family=margins)
            if margins is not None
            else _regression(moments, formula, cov_type, chosen)
        )
        tested = found.wald_test(test) if test else None
    if ratios:
        table = found.odds_ratios() if found.family == "logit" else found.rate_ratios()
        table = table.rename_axis("term").reset_index()
        said = table.to_json(orient="records", indent=2, double_precision=15)
        say(said if as_json else table.to_string(index=False))
    elif tested is not None:
        say(json.dumps(asdict(tested)) if as_json else str(tested))
    elif as_json:
        say(found.tidy().to_json(orient="records", indent=2, double_precision=15))
    else:
        say(found.summary())


def _is_model(moments: Moments, formula: str) -> bool:
    """Whether a name is that of a declared logit, probit or Poisson regression."""
    return formula in {one.title for one in moments.models}


def _index_model(moments: Moments, formula: str, family: str | None, margins: str | None) -> Any:
    """The declared model of an index, or the average effect of one of its regressors."""
    found: Any = moments.glm(formula, family=family)  # type: ignore[arg-type]
    return found if margins is None else found.margins(margins)


def _regression(
    moments: Moments, formula: str, cov_type: str | None, where: Mapping[str, Any] | None
) -> Any:
    """The regression of a formula or a name; with an instrument two-stage least squares."""
    instrumented = {one.title for one in moments.instrumented}
    fit: Any = moments.iv if "[" in formula or formula in instrumented else moments.ols
    return fit(formula, cov_type=cov_type, where=where)


def _declared(moments: Moments, formula: str, where: list[str]) -> str | None:
    """Title of the declared regression that has a formula and these levels as its condition."""
    if not where:
        return None
    pairs = [tuple(part.strip() for part in re.split("==?", text, maxsplit=1)) for text in where]
    said = " & ".join(" == ".join(pair) for pair in pairs)
    of = (one.title for one in moments.declared if (one.formula, one.where) == (formula, said))
    return next(of, None)


def _described(moments: Moments) -> dict[str, Any]:
    return {
        "columns": list(moments.columns),
        "arms": list(moments.arms),
        "groups": [group.name for group in moments.groups],
        "n": moments.n,
        "guarantee": moments.guarantee.to_dict(),
        "ledger": moments.ledger,
    }


def _groups(moments: Moments, said: list[str]) -> Mapping[str, Any] | None:
    """Return the condition that the options say, levels as the release has them."""
    found: dict[str, Any] = {}
    for text in said:
        name, equals, level = text.partition("=")
        if not equals:
            raise ParameterError(f"--where {text!r} is not of the form ``COLUMN=LEVEL``")
        name, level = name.strip(), level.strip()
        known = {
            "." if value is None else value if isinstance(value, str) else f"{value:g}": value
            for group in moments.groups
            if name in moments.group_columns
            for value in [group.value(name)]
        }
        found[name] = known.get(level, level)
    return found or None
