"""R's own files through R itself, with labels, factors and dates."""

from __future__ import annotations

import gzip
import importlib.util
import threading
import warnings
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dprct.disk import atomic_write
from dprct.errors import FileError
from dprct.rbridge.attach import attach
from dprct.rbridge.convert import RError, RWarning, Table, call_r, from_r, to_r
from dprct.rbridge.convert.vectors import count, short_texts, texts, view

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from dprct.schema import Schema


def r_is_here() -> bool:
    """Whether R can be used from this thread; asking does not start it."""
    return threading.current_thread() is threading.main_thread() and _is_installed()


@cache
def _is_installed() -> bool:
    if importlib.util.find_spec("rpy2") is None:
        return False
    return import_module("rpy2.situation").get_r_home() is not None


def read_r_file(path: Path) -> tuple[pd.DataFrame, Schema]:
    """Return the one data frame of an .rds, .rda or .RData file.

    Warns
    -----
    DprctWarning
        If something is lost, such as a time zone.

    Notes
    -----
    R before 4.4 can be made to run code by a crafted file: read files that you trust.

    Examples
    --------
    >>> data, schema = read_r_file(Path("trial.rds"))  # doctest: +SKIP
    """
    table = from_r(_only_frame(path))
    return table.data, table.schema


def write_r_file(data: pd.DataFrame, schema: Schema, path: Path) -> None:
    """Write an .rds file whose data frame has haven's labels, dates and tagged missing values.

    The file appears complete or not at all.
    """
    frame = to_r(Table(data, schema))
    with atomic_write(path, mode="wb") as file:
        file.write(_serialised(frame))


def _serialised(frame: Any) -> bytes:
    session = attach()
    raw = call_r(session.base("serialize"), frame, session.ri.NULL, version=count(3))
    # no time of writing, so that the same data give the same file
    return gzip.compress(view(raw).tobytes(), mtime=0)


def _only_frame(path: Path) -> Any:
    objects = _objects(path)
    frames = [x for x in objects.values() if "data.frame" in texts(x.rclass)]
    if len(objects) != 1 or len(frames) != 1:
        names = f" ({', '.join(objects)})" if len(objects) > 1 else ""
        held = f"{len(objects)} objects{names}" if len(objects) != 1 else "no data frame"
        raise FileError(f"{path.name!r} holds {held}; save one data frame alone")
    return frames[0]


def _objects(path: Path) -> dict[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RWarning)  # what follows says it better
            return _loaded(path)
    except RError:
        # R's words may quote the data
        raise FileError(
            f"{path.name!r} cannot be read as a file of R; save one with saveRDS() or save()"
        ) from None


def _loaded(path: Path) -> dict[str, Any]:
    session = attach()
    name = short_texts([str(path)])
    if path.suffix.lower() == ".rds":
        return {path.stem: call_r(session.base("readRDS"), name)}
    room = session.base("new.env")(parent=session.ri.emptyenv)
    loaded = texts(call_r(session.base("load"), name, room))
    return {str(one): room[one] for one in loaded}
