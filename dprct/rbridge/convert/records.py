"""Objects that R holds by name: their numbers cross, the object stays here."""

from __future__ import annotations

import os
import uuid
from dataclasses import field
from typing import TYPE_CHECKING, Any

from dprct.errors import SessionError
from dprct.rbridge.attach import attach
from dprct.rbridge.convert.vectors import kind_of, short_texts, text, texts
from dprct.rbridge.registry import revival
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ATTRIBUTE = "dprct_live"


@dataclass(frozen=True)
class Record:
    """A list of R's with classes, and the Python object that it stands for.

    Examples
    --------
    >>> Record(("dprct_plan",), {"epsilon": 1.0}).fields["epsilon"]
    1.0
    """

    classes: tuple[str, ...]  # S3 classes, the most special first
    fields: Mapping[str, Any]  # the elements: all numbers that R needs without Python
    # What an export gets when R passes the record; dropped when R's collector takes it.
    live: object = None


@dataclass
class LiveObjects:
    """The objects that R holds by id."""

    # Name of this process among all; a fork has the objects and so the name.
    session: str = field(default_factory=lambda: f"{os.getpid()}-{uuid.uuid4().hex}")
    held: dict[str, object] = field(default_factory=dict)
    made: int = 0
    _dropped: Any = None

    def keep(self, thing: object) -> Any:
        """Return R's environment for a Python object."""
        attached = attach()
        if self._dropped is None:
            self._dropped = attached.base("new.env")(parent=attached.ri.emptyenv)
        self.made += 1
        key = f"{self.made}"
        self.held[key] = thing
        return attached.function("live_object")(
            short_texts([key]), short_texts([self.session]), self._dropped
        )

    def sweep(self) -> None:
        """Drop what R has let go of."""
        if self._dropped is not None:
            for key in texts(attach().function("take_dropped")(self._dropped)):
                self.held.pop(str(key), None)

    def find(self, environment: Any) -> object:
        """Return the object of an environment; None if it is another session's."""
        if text(environment["session"]) != self.session:
            return None
        return self.held.get(text(environment["id"]))


live = LiveObjects()
"""The objects of this process."""

_NUMBERS_SAVED = (
    "only its numbers were saved; ask for the rest in that session (a new fit would spend the "
    "budget again)"
)
_NOT_SAVED = {
    "dprct_model": "is not saved with its data; make it again from these, which costs nothing",
    "dprct_accountant": "what it holds is in its file alone: accountant(path = FILE) opens that; "
    "one in memory is gone",
}
"""What to do of objects that R does not save, by their class."""


def live_of(
    sexp: Any, classes: list[str | None], fields_of: Callable[[], Mapping[str, Any]]
) -> object:
    """Return the object that an R record stands for; None where it stands for none."""
    environment = attach().base("attr")(sexp, short_texts([ATTRIBUTE]))
    if kind_of(environment) != "environment":
        return None
    found = live.find(environment)
    if found is not None:
        return found
    name = str(classes[0]) if classes else "object"
    again = revival(name)
    if again is None:
        raise SessionError(
            f"this {name} was made in another session, and {_NOT_SAVED.get(name, _NUMBERS_SAVED)}"
        )
    return again(fields_of())
