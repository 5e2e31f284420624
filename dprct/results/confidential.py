"""The mark of everything that was compared with confidential data, and what it refuses."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NoReturn

from dprct.errors import DisclosureError, DprctWarning, ModelPicklingError

if TYPE_CHECKING:
    import pandas as pd

WATERMARK = "CONFIDENTIAL: compared with the confidential data; do not publish"
MARK = "dprct"
"""Key of the watermark among the ``attrs`` of a frame."""

CAUTION = (
    "this compares with the confidential data: publishing its numbers, or choosing the best of "
    "several draws by them, is itself a disclosure that no guarantee covers; keep it with the data"
)


class Confidential:
    """Base of reports on confidential data: they stay in the process that made them.

    Notes
    -----
    A report refuses to be pickled, and with it whatever it was put into: caches, other processes
    and files are how a comparison with the truth gets out by mistake.  Its frames can be saved
    on purpose; they carry the watermark in ``attrs``.

    Examples
    --------
    >>> import pickle
    >>> pickle.dumps(Confidential())
    Traceback (most recent call last):
    ...
    dprct.errors.DisclosureError: a Confidential is confidential and is not pickled; ...
    """

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise DisclosureError(
            f"a {type(self).__name__} is confidential and is not pickled; keep the frames that you "
            "need, with the confidential data"
        )


class HoldsRows:
    """Base of models, which hold confidential rows and stay in the process that made them.

    Notes
    -----
    ``__reduce_ex__`` is what :mod:`pickle` and :mod:`copy` ask, at every protocol, and what joblib
    and cloudpickle are built on.  Tools that ask for the state by itself are refused as well.
    """

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        self._stays()

    def __reduce__(self) -> NoReturn:
        self._stays()

    def __getstate__(self) -> NoReturn:
        self._stays()

    def _stays(self) -> NoReturn:
        raise ModelPicklingError(
            f"{type(self).__name__} holds confidential rows and is not pickled or copied; pickle "
            "the results or the release that fit returns"
        )


def marked(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with the watermark among its ``attrs``.

    Examples
    --------
    >>> import pandas as pd
    >>> marked(pd.DataFrame({"overlap": [0.5]})).attrs["dprct"] == WATERMARK
    True
    """
    frame.attrs[MARK] = WATERMARK
    return frame


def is_confidential(thing: Any) -> bool:
    """Whether this is a report on confidential data, or a frame of one.

    Examples
    --------
    >>> is_confidential(Confidential()), is_confidential("a sentence")
    (True, False)
    """
    attrs = getattr(thing, "attrs", None)
    carries = isinstance(attrs, dict) and attrs.get(MARK) == WATERMARK
    return isinstance(thing, Confidential) or carries


def caution(stacklevel: int = 3) -> None:
    """Warn whoever called the function that calls this.

    Parameters
    ----------
    stacklevel : int
        As in :func:`warnings.warn`, from here.
    """
    warnings.warn(CAUTION, DprctWarning, stacklevel=stacklevel)
