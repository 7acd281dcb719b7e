"""A report as one page: nothing is loaded, nothing runs but the page's own script, if at all."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import semqa
from semqa.quotes.render.common import safe_text

if TYPE_CHECKING:
    from jinja2 import Template

    from semqa.bench.report.report import BenchReport

__all__ = ["to_page"]


def to_page(report: BenchReport) -> str:
    """Return a report as a standalone HTML page.

    Questions, sources, answers and names are anybody's text: all of it is escaped, and the page's
    policy allows its own script and nothing from anywhere.
    """
    script = _asset("report.js")
    return _template().render(
        report=report,
        style=_asset("report.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        version=semqa.__version__,
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["safe_text"] = safe_text
    environment.filters["parted"] = lambda text: re.findall(r"[^:/]+[:/]*|[:/]+", text)
    return environment.from_string(_asset("report.html.jinja"))


@cache
def _asset(name: str) -> str:
    return (files("semqa.bench.report") / name).read_text(encoding="utf-8")
