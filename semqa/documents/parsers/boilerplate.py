"""Detect boilerplate: the parts of a web page that are not its text.

These are menus, cookie notices, breadcrumbs, tables of contents, controls, links around the text,
and hidden or struck-through text.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

from semqa.documents.structure import NEGATES

HEADINGS = frozenset(["h1", "h2", "h3", "h4", "h5", "h6"])
_HIDDEN_TAGS = (
    "script style template noscript svg math iframe object embed canvas head nav select textarea "
    "button audio video map datalist del s strike"
)
_HIDDEN = frozenset(_HIDDEN_TAGS.split())
_LISTS = frozenset(["ul", "ol", "dl"])
_MOST_LINKED = 20_000
"""An element with more descendants than this counts as text."""

_TITLES = frozenset(["dt", "summary", "button", *HEADINGS])
_TITLE_SIGN = re.compile(r"\s*[#¶§🔗+−–▼▲▾▴▸►›»⌄∨]\s*")
"""A symbol in a heading that links to it or unfolds the text below it."""

_MIN_LINKS = 3
"""Minimum number of links in a table of contents."""

_ROLES = frozenset(["navigation", "search", "menu", "menubar", "dialog", "alertdialog", "tablist"])
"""Roles of elements that are not part of the page's text."""

_BLOCKS = frozenset(["div", "section", "aside", "header", "ul", "ol", "p", "a", "span", "form"])
_BEFORE_HEADING = _BLOCKS - {"a", "span"} | {"td"}
"""Blocks that are left out before the ``h1`` if they contain only links."""

_NOTICE = re.compile(
    r"cookie[-_]?(?:banner|bar|consent|notice|law|popup|message|modal|overlay|dialog)|cookiebot"
    r"|onetrust|\bgdpr|\bskip[-_]?(?:link|to|nav)|(?:^| )skip(?: |$)|breadcrumb|\bcrumbs\b"
    r"|\bscreen-reader-text\b|\bsr-only\b|\bvisually-hidden\b",
    re.IGNORECASE,
)
"""Class names and ids of cookie notices, breadcrumbs, and text for screen readers only."""

_UNSEEN = frozenset(["screen-reader-text", "sr-only", "visually-hidden"])
_TELLS = re.compile(rf"{NEGATES.pattern}|\b(?:old|original|previous|regular|was)\b", re.IGNORECASE)
"""Text for screen readers to keep: "Not included", or which of two prices is the old one."""

_STRUCK = re.compile(
    r"(?:^|[ _-])(?:line-through|strike(?:through)?|struck|old-price|price-old|was-price|price-was)(?:$| )",
    re.IGNORECASE,
)
"""Class names of text that a style sheet strikes through."""

_ACCEPT = re.compile(
    r"\s*(?:(?:I|yes,?) )?(?:accept|agree|allow|got it|ok(?:ay)?|understood|alle (?:cookies )?akzeptieren|akzeptieren|"
    r"zustimmen|einverstanden|verstanden|(?:tout )?accepter|j[’']accepte|aceptar|de acuerdo)\b",
    re.IGNORECASE,
)
"""The text of the button of a cookie notice."""

_PRIVACY = re.compile(
    r"\b(?:us(?:e|es|ing|amos|o) |(?:web)?sites?\b|privacy|consent|experience|preferences|settings|"
    r"analy|datenschutz|verwend|nutz|einstellungen|utilis|utiliza)",
    re.IGNORECASE,
)
"""Words of a cookie notice that are rare in a recipe for cookies."""

_MAX_BUTTONS, _LEVELS, _MAX_HEADINGS = 20, 6, 5
"""Maximum number of buttons examined, of ancestors of each, and of headings."""

_LINKS = re.compile(
    r"(?:^|[ _-])(?:menu|nav|navbar|topbar|sidebar|share|social|footer)\b", re.IGNORECASE
)
"""Class names and ids of elements that are left out if all of their words are links."""

_CONTROL = re.compile(
    r"(?:back to top|continue reading|copy link|like|permalink|pin it|read more|reply|share|tweet)\W*",
    re.IGNORECASE,
)
"""The text of a link that is a control of a comment or page, such as "Reply"."""

_TRAIL = re.compile(r"([^>›»→|]{1,40})(?: [>›»→] [^>›»→|]{1,60}){1,6}")
_MOST_IN_TRAIL = 30
"""Maximum number of elements in a breadcrumb trail."""

_LONGEST_NOTICE = 2_000
LONGEST_JUMP = 60
LONGEST_VALUE, _TERM_WORDS, _MOST_TERMS = 40, 4, 20
"""Maximum length of a value in a definition list, minimum number of words of most terms if these are
headings, and maximum number of terms examined."""

_LONGEST_MARK = 6
"""Maximum length of the mark of a note."""


class Boilerplate:
    """Finds the boilerplate of one page. Ask about its elements in document order."""

    def __init__(self, root: Any) -> None:
        self._cookies = _cookie_notices(root)
        self._around = _around_heading(root)
        """The ancestors of the first ``h1``; empty once a heading has been read."""

    def leaves_out(self, element: Any, tag: str, *, first: bool) -> bool:
        """Whether to leave out an element; `first` if no text was read before it.

        Links and breadcrumbs before the ``h1`` are left out too.
        """
        before = self._around and element not in self._around and tag in _BEFORE_HEADING
        found = (
            is_hidden(element)
            or element in self._cookies
            or (before and _has_only_links(element, "", 1) and not _has_contact(element))
            or (before and _is_trail(element))
            or (tag == "a" and first and _is_jump(element))
            or (tag == "a" and _is_control(element))
        )
        if tag in HEADINGS and not found:
            self._around = frozenset()
        return bool(found)


def is_hidden(element: Any) -> bool:
    """Whether an element is never part of the text: hidden, struck through, a control or a menu."""
    panel = element.get("role") in ("tabpanel", "region")
    return (
        (
            element.tag in _HIDDEN
            and not (element.tag == "button" and is_section_title(element, "button"))
        )
        or (element.get("hidden") not in (None, "until-found") and not panel)
        or "line-through" in element.get("style", "")
        or _STRUCK.search(element.get("class", "")) is not None
        or element.get("role") in _ROLES
        or (element.get("aria-hidden") == "true" and _is_decoration(element))
        or (element.tag in _BLOCKS and _is_around_text(element))
        or (element.tag in _LISTS and _has_only_links(element, "#", _MIN_LINKS))
        or (element.tag == "sup" and _is_note_mark(element))
        or (
            element.tag in ("a", "i", "span")
            and _TITLE_SIGN.fullmatch("".join(islice(element.itertext(), 2))) is not None
            and next(element.iterancestors(*_TITLES), None) is not None
        )
    )


def _is_around_text(element: Any) -> bool:
    """Whether a block is a cookie notice, or links around the text of a page."""
    name = f"{element.get('class', '')} {element.get('id', '')}"
    if name != " " and (notice := _NOTICE.search(name)):
        tells = notice[0].lower() in _UNSEEN and _TELLS.search(text_start(element))
        return not tells and not is_longer(element, _LONGEST_NOTICE)
    around = name != " " and _LINKS.search(name) is not None
    if not around and element.tag in _LISTS:
        around = any(
            each.tag in ("footer", "aside")
            or (each.tag not in ("body", "main") and _LINKS.search(each.get("class", "")))
            for each in element.iterancestors()
        )
    return around and _has_only_links(element, "", 2)


def _around_heading(root: Any) -> frozenset[Any]:
    """Return the ancestors of the first visible ``h1``, or an empty set."""
    for heading in islice(root.iter("h1"), _MAX_HEADINGS):
        around = frozenset(heading.iterancestors())
        if not any(map(is_hidden, around)):
            return around
    return frozenset()


def _cookie_notices(root: Any) -> list[Any]:
    """Return the smallest elements around a button such as "Accept all" that mention cookies."""
    found: list[Any] = []
    buttons = (each for each in root.iter("button", "a") if _ACCEPT.match(text_start(each)))
    for button in islice(buttons, _MAX_BUTTONS):
        for element in islice(button.iterancestors(*_BLOCKS), _LEVELS):
            page = next(element.iter("h1", "main", "table"), None) is not None
            if page or is_longer(element, _LONGEST_NOTICE // 2):
                break
            text = "".join(element.itertext()).lower()
            if "cookie" in text and _PRIVACY.search(text):
                found.append(element)
                break
    return found


def _is_jump(link: Any) -> bool:
    """Whether a link jumps within the page, as "Skip to content" does, and is not part of a sentence."""
    return (
        link.get("href", "").startswith("#")
        and not (link.tail or "").strip()
        and next(link.iter(*HEADINGS), None) is None
        and not is_longer(link, LONGEST_JUMP)
    )


def _is_control(link: Any) -> bool:
    """Whether a link is a control such as "Reply", and not part of a sentence."""
    before = link.getprevious()
    above = link.getparent().text if before is None else before.tail
    alone = not (above or "").strip() and not (link.tail or "").strip()
    return alone and _CONTROL.fullmatch(text_start(link).strip()) is not None


def _is_trail(element: Any) -> bool:
    """Whether an element is a breadcrumb trail, such as "Home > Support > Returns"."""
    return (
        len(list(islice(element.iter(), _MOST_IN_TRAIL + 1))) <= _MOST_IN_TRAIL
        and not is_longer(element, 2 * LONGEST_JUMP)
        and (trail := _TRAIL.fullmatch(line_of(element))) is not None
        and (trail[1] == "Home" or next(element.iter("a"), None) is not None)
    )


def _has_contact(element: Any) -> bool:
    """Whether an element has a link to a phone number or an address."""
    return any(link.get("href", "").startswith(("tel:", "mailto:")) for link in element.iter("a"))


def _is_decoration(element: Any) -> bool:
    """Whether a short element has no words, or repeats the short element before it."""
    if is_longer(element, LONGEST_JUMP):
        return False
    words, before = " ".join(element.itertext()).split(), element.getprevious()
    if before is not None and not is_longer(before, LONGEST_JUMP):
        return words == " ".join(before.itertext()).split()
    return not any(map(str.isalnum, "".join(words)))


def is_section_title(element: Any, tag: str) -> bool:
    """Whether an element is the title of the longer text after it.

    Such titles are phrases in a definition list, the ``summary`` of a ``details`` element, and the
    button of a panel. A question in a ``summary`` is not a title: it stays with its answer.
    """
    if tag not in ("dt", "summary", "button"):
        return False
    below = element.getnext()
    if below is None or (tag == "button" and element.get("aria-expanded") is None):
        return False
    if below.tag == "nav" or not is_longer(below, LONGEST_VALUE):
        return False
    if tag == "dt":
        terms = islice(element.getparent().iterchildren("dt"), _MOST_TERMS)
        words = sorted(len("".join(term.itertext()).split()) for term in terms)
        return below.tag == "dd" and words[len(words) // 2] >= _TERM_WORDS
    return tag == "button" or not "".join(element.itertext()).rstrip().endswith(("?", "？"))


def _is_note_mark(element: Any) -> bool:
    """Whether a superscript refers to a note, as in encyclopaedias."""
    return not is_longer(element, _LONGEST_MARK) and _has_only_links(element, "#", 1)


def _has_only_links(element: Any, to: str, least: int) -> bool:
    """Whether all words are in links, `least` or more, and the address of each link contains `to`."""
    links = 0
    if _has_letters(element.text) and element.tag != "a":
        return False
    walk = element.iter()
    next(walk)
    for count, each in enumerate(walk):
        if count > _MOST_LINKED:
            return False
        if each.tag == "a":
            if to not in each.get("href", ""):
                return False
            links += 1
        elif _has_letters(each.text) and not _in_link(each, element):
            return False
        if _has_letters(each.tail) and not _in_link(each.getparent(), element):
            return False
    return links >= least


def _has_letters(text: str | None) -> bool:
    return text is not None and any(map(str.isalpha, text))


def _in_link(element: Any, within: Any) -> bool:
    while element is not within and element.tag != "a":
        element = element.getparent()
    return element is not within


def text_start(element: Any) -> str:
    """Return the beginning of an element's text."""
    return "".join(islice(element.itertext(), 4))


def line_of(element: Any) -> str:
    """Return the text of an element on one line, hidden parts included."""
    return " ".join("".join(element.itertext()).split())


def is_longer(element: Any, most: int) -> bool:
    """Whether an element has more than `most` characters of text, without white space."""
    length = 0
    for text in element.itertext():
        length += sum(map(len, text.split()))
        if length > most:
            return True
    return False
