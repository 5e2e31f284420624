"""The site, by Sphinx: ``make docs`` gathers the pages (scripts/pages.py) and builds them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from latex2mathml.converter import convert

import dprct

project = "dprct"
release = dprct.__version__
copyright = "dprct developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"  # light and dark; nothing is loaded from elsewhere
html_title = f"dprct {release}"
html_extra_path = ["../build/pages/extra"]
html_copy_source = False
html_show_sourcelink = False
templates_path: list[str] = []
suppress_warnings = ["myst.xref_missing_lexer", "ref.python"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
pygments_style = "default"
pygments_dark_style = "monokai"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_preprocess_types = False
autodoc_typehints = "none"  # the sections of a docstring say more
autodoc_class_signature = "mixed"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": "BaseException,Exception,Mapping"}
html_math_renderer = "mathml"
maximum_signature_line_length = 88
language = "en"


def _inline(writer: Any, node: Any) -> None:
    writer.body.append(convert(node.astext()))
    raise _SKIP


def _display(writer: Any, node: Any) -> None:
    writer.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise _SKIP


def _escape_bars(*given: Any) -> None:
    """Keep |x| in docstrings, which would name a substitution."""
    lines = given[-1]
    lines[:] = [
        "``".join(part if at % 2 else part.replace("|", "\\|") for at, part in enumerate(one))
        for one in (line.split("``") for line in lines)
    ]


def setup(app: Any) -> None:
    """Formulas are MathML, which browsers typeset by themselves."""
    app.connect("autodoc-process-docstring", _escape_bars, priority=1000)
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))


from docutils.nodes import SkipNode as _SKIP  # noqa: E402
