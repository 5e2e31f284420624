"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="A study file (TOML).")]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", metavar="FILE", help="Where the output goes, if not where STUDY says."
    ),
]
Long = Annotated[
    bool, typer.Option("--long", help="Print all of it, where it is more than a screen.")
]
