"""The side of R: the R package ``dprct`` calls this one inside its own process.

reticulate starts Python in the R session, rpy2 attaches to that session, and rpy2 converts every
value, both ways, once per call.  R says ``dprct_call("ols", formula = "y ~ t", data = d)``; the
Python function that was registered under that name gets plain arguments and returns plain values.

**A call.**  R puts the name and the arguments into a new environment, the frame, stores it under a
key and calls :func:`dprct.rbridge.dispatch.run` with the key; only that text goes through
reticulate.  Python converts the arguments, runs the export and writes ``value``, ``status``,
``warnings`` and ``records`` into the frame.  It never raises.  R then signals messages and
warnings, and returns, stops or interrupts.

**An export** is a function in :mod:`dprct.rbridge.api` under
:func:`dprct.rbridge.registry.export`; what it gets and may return:

=============================================  ===================================================
in R                                           in Python
=============================================  ===================================================
``NULL``                                       None
a lone ``NA``                                  None; refused as an argument, or in a named list
a vector of length 1                           a bool, int, float, str or date
a longer vector, or ``I(1)``                   numbers: an array; text, factors, dates: a list
a named vector, a named list                   a dict
a list without names                           a list
a matrix of numbers                            an array (n, k)
a formula                                      refused: the R package sends its text
a data frame                                   :class:`~dprct.rbridge.convert.Table`
a function                                     :class:`~dprct.rbridge.convert.RFunction`
an object made by :class:`Record` with         the live object itself
``live=``
=============================================  ===================================================

Back, the same and: a :class:`~dprct.rbridge.convert.Record` becomes a list with S3 classes; a
:class:`~dprct.rbridge.convert.Matrix` a matrix with names; a ``Series`` a named vector; a
``DataFrame`` a data frame (text row names kept); a ``Table`` a data frame with haven's labels,
dates and tagged missing values.

**Objects that must stay in Python** (models, schemas, releases) are the ``live`` of a ``Record``.
R holds the numbers, and an environment with an id in the attribute ``dprct_live``; when R's
collector takes it, the next call drops the Python object.  ``saveRDS`` keeps the numbers.  In
another session the id means nothing: a class with a function under
:func:`~dprct.rbridge.registry.revives` is made again from its numbers (a schema from its TOML);
any other raises :class:`~dprct.errors.SessionError`.

**Errors** arrive as conditions ``dprct_error``, with a class per leaf (``dprct_budget_error``) and
the public attributes as fields; warnings as ``dprct_warning``; records of the logger ``dprct`` from
INFO up as messages of class ``dprct_message``.
"""

from __future__ import annotations

PROTOCOL = 1
"""Number of the crossing protocol; the R package refuses a Python that speaks another."""
