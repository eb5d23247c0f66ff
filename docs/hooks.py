"""Steps of the build of the pages: formulas become MathML, which browsers draw themselves, and the commands' own help
stands where a page asks for it."""

import html
import os
import re
from typing import Any

from latex2mathml.converter import convert

from infocal.cli import parser

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
HELP = re.compile(r"^<!-- help of (.+?) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the help of commands in."""
    os.environ["COLUMNS"] = "100"
    return HELP.sub(lambda asked: f"```text\n{_help(asked[1])}```", markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Turn formulas into MathML."""
    return FORMULA.sub(_mathml, content)


def _mathml(formula: re.Match[str]) -> str:
    tag, text = formula.groups()
    drawn = convert(html.unescape(text).strip(), display="inline" if tag == "span" else "block")
    return f'<{tag} class="arithmatex">{drawn}</{tag}>'


def _help(command: str) -> str:
    whole = parser()
    commands = next(action.choices for action in whole._actions if isinstance(action.choices, dict))
    return str(commands.get(command, whole).format_help())
