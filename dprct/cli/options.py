"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="A study file (TOML).")]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", metavar="FILE", help="Output file, instead of the one that STUDY names."
    ),
]
Long = Annotated[
    bool, typer.Option("--long", help="Print the whole plan, even if it fills more than a screen.")
]
