"""``dprct ols``: a regression on released moments, by whoever has the file and no data."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dprct.cli.show import say, working
from dprct.errors import ParameterError

if TYPE_CHECKING:
    from dprct.estimate.moments.results import Moments


def ols(
    file: Annotated[Path, typer.Argument(help="Released moments, such as study.moments.json.")],
    formula: Annotated[
        str | None,
        typer.Argument(
            help='Such as "wage ~ treat + age", or the name of a declared regression; without '
            "one, the contents of the release are printed."
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", help="Restrict to one group: COLUMN=LEVEL; may be given again."),
    ] = None,
    cov_type: Annotated[str | None, typer.Option(help='Errors: "by group" or "nonrobust".')] = None,
    effects: Annotated[
        bool, typer.Option("--effects", help="Print effects of the arms instead of a regression.")
    ] = False,
    joint: Annotated[
        str | None,
        typer.Option(
            "--joint", help="Print declared regressions jointly, by the label of their family."
        ),
    ] = None,
    margins: Annotated[
        str | None,
        typer.Option(
            "--margins",
            help="Average marginal effects, as after a logit or poisson, from a declared "
            "regression; with --family, those of a regressor, such as treat.",
        ),
    ] = None,
    family: Annotated[
        str | None,
        typer.Option("--family", help="A declared logit, probit, cloglog or poisson."),
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
    """Compute a regression from released moments, without data; its errors contain the noise."""
    from dprct.estimate.moments.results import Moments
    from dprct.study.reading import Reading, groups

    with working("reading"):
        moments = Moments.load(file)
        if (formula is not None) + effects + (joint is not None) > 1:
            raise ParameterError("--effects and --joint take no formula; give one of them")
        reading = None if formula is None else Reading(
            file.name, formula, tuple(where or ()), cov_type, family, margins, ratios
        )  # fmt: skip
        index = reading is not None and reading.of_index(moments)
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
        found: Any = (
            moments.joint(joint)
            if joint is not None
            else moments.effects(where=groups(moments, tuple(where or ())))
            if reading is None
            else reading.of(moments)
        )
        tested = found.wald_test(test) if test else None
    if ratios:
        table = found.rename_axis("term").reset_index()
        said = table.to_json(orient="records", indent=2, double_precision=15)
        say(said if as_json else table.to_string(index=False))
    elif tested is not None:
        say(json.dumps(asdict(tested)) if as_json else str(tested))
    elif as_json:
        say(found.tidy().to_json(orient="records", indent=2, double_precision=15))
    else:
        say(found.summary())


def _described(moments: Moments) -> dict[str, Any]:
    from dprct.estimate.moments.groups import names_of

    return {
        "columns": list(moments.columns),
        "arms": list(moments.arms),
        "groups": names_of(moments.groups, moments.schema),
        "n": moments.n,
        "guarantee": moments.guarantee.to_dict(),
        "ledger": moments.ledger,
    }
