"""``dprct plan``: what a study will cost, and how good it can be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dprct.cli.check import say_same_data
from dprct.cli.options import Long, StudyFile
from dprct.cli.show import check_page, say, say_plan, working
from dprct.disk import atomic_write
from dprct.errors import FileError

if TYPE_CHECKING:
    from dprct.study.study import Study

_SCREEN = 36  # lines


def plan(
    study_file: StudyFile,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="PAGE", help="Write a page for the custodian to read and sign."
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture",
            metavar="FILE",
            help="Draw the expected errors against epsilon, as .png, .svg or .pdf.",
        ),
    ] = None,
    long: Long = False,
) -> None:
    """Print what STUDY will cost, the errors to expect, and the hash to be approved.

    The plan follows from public facts; the data are read only to refuse values and designs that the
    declarations rule out.
    """
    with working("reading"):  # a sign of life before anything large is loaded
        from dprct.study.approval import KIND, approval_of, approval_page
        from dprct.study.ready import bound_model, study_of

        study = study_of(study_file)
    if html is not None:
        check_page(html, KIND)
    if picture is not None:
        _check_picture(picture)
    with working("reading"):
        model = bound_model(study)
    with working("planning"):
        approval = approval_of(study, model)
    say_plan(approval.plan, None if long else _SCREEN)
    say_same_data(study)
    say(f"Approval hash: {approval.sha256}")
    if html is not None:
        with atomic_write(html, mode="wb") as file:
            file.write(approval_page(approval).encode("utf-8"))
        say(f"wrote {html}: print it to a PDF, and have it signed before dprct protect --approved")
    if picture is not None:
        _draw(study, model, picture)
        say(f"wrote {picture}")


_PICTURES = (".png", ".svg", ".pdf")


def _check_picture(path: Path) -> None:
    """Refuse a name that is none of a picture, and to replace anything."""
    if path.suffix.lower() not in _PICTURES:
        raise FileError(f"{path.name!r} is not the name of a picture; end it in .png, .svg or .pdf")
    if path.exists():
        raise FileError(f"{path.name!r} exists; give another name, or remove it")


def _draw(study: Study, model: Any, path: Path) -> None:
    """Write the plan as a picture."""
    from dprct.plots import plan_errors

    asked = study.release
    axes = plan_errors(
        model, asked.epsilon, asked.delta, accept_large_delta=asked.accept_large_delta
    )
    with atomic_write(path, mode="wb") as file:
        axes[0].figure.savefig(file, format=path.suffix[1:].lower())  # type: ignore[union-attr]
