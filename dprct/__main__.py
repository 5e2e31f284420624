"""Where the command line begins: interrupts are answered before anything slow is imported."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


def main() -> None:
    """Run the command line; until it is loaded, Ctrl-C and SIGTERM end the process at once.

    An exception in the middle of an import could come out as any other, and with a traceback;
    nothing is open yet that would have to be closed.
    """
    for number in _CODES:
        signal.signal(number, _ended)
    from dprct.cli.main import main as run

    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    run()


def _ended(number: int, _frame: FrameType | None) -> None:
    os.write(2, b"interrupted; nothing was done\n")
    os._exit(_CODES[signal.Signals(number)])


if __name__ == "__main__":
    main()
