"""The Markdown of models is drawn, and never hides or changes a quote."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from semqa import QuotedAnswer, Source
from tests.server.browser.test_answers import ask, paste, wait_for_answer

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.server.browser.conftest import Serve

SOURCE = (
    "The tower was opened in 1889. It is *made* of wrought iron and 330 metres | 1,083 ft tall."
)
WRITTEN = """# The **tower** of [ 1 wrought iron ]

Opened **[ 1 opened in 1889 ]**, _[ 1 The tower ]_, `f(x) [ 1 tower ]`, [the [ 1 iron ]](https://example.org/a_b_c).
5*6 and 7*8, snake_case_name, \\*stars\\*, <b>tags</b>, https://example.org/x_(y).

1. First: [ 1 is *made* of ]
   - nested [ 1 1889 ]
2. [second](https://example.org/) and [example.org](https://evil.org), [none](javascript:alert(1))

1985. That was the year.

| Part | Height |
|------|--------|
| Mast | **[ 1 330 metres | 1,083 ft ]** |

> Said [ 1 It is ]

```python
x ** 2 # [ 1 tall ]
```
"""


def test_markdown_is_drawn_and_its_quotes_open(serve: Serve, page: Page) -> None:
    serve(lambda *_: WRITTEN).open(page)
    paste(page, SOURCE)
    ask(page)
    wait_for_answer(page)
    text = page.locator(".answer .text")
    for path in (
        "h3", "p strong", "p em", "p code", "ol > li", "ol ul > li", "td strong", "blockquote", "pre code",
    ):  # fmt: skip
        assert text.locator(f"{path} .quote").count() >= 1, path
    assert text.locator("h3 strong").inner_text() == "tower"
    assert [item.get_attribute("value") for item in text.locator("ol > li").all()] == ["1", "2"]
    assert text.locator("th").all_inner_texts() == ["Part", "Height"]
    assert text.locator(".language").inner_text() == "python"
    assert "x ** 2" in text.locator("pre").inner_text()
    assert text.locator(".claim", has_text="1985").count() == 1
    shown = text.locator("> p").first.inner_text()
    for kept in ("5*6 and 7*8", "snake_case_name", "*stars*", "<b>tags</b>"):
        assert kept in shown
    assert "[none](javascript:alert(1))" in text.inner_text()
    links = text.locator("a:not(.quote)")
    assert [(link.inner_text(), link.get_attribute("href")) for link in links.all()] == [
        ("(example.org)", "https://example.org/a_b_c"),
        ("https://example.org/x_(y)", "https://example.org/x_(y)"),
        ("second (example.org)", "https://example.org/"),
        ("example.org (evil.org)", "https://evil.org/"),
    ]
    assert {link.get_attribute("rel") for link in links.all()} == {"noopener noreferrer nofollow"}
    assert text.locator("a a").count() == 0
    quotes = text.locator(".quote")
    read = QuotedAnswer.parse(WRITTEN, [Source(SOURCE)])
    assert quotes.locator("bdi").all_text_contents() == [quote.text for quote in read.quotes]
    for at, quote in enumerate(read.quotes):
        quotes.nth(at).click()
        assert "".join(page.locator("mark.pinned").all_inner_texts()) == quote.text
        assert quotes.nth(at).evaluate("e => e.matches('.pinned')")


def test_headings_and_tables_of_a_document_look_like_those(serve: Serve, page: Page) -> None:
    hours = "# Hours\n\nOpen on Mondays. C# is not taught.\n\n"
    text = f"{hours}| 𝒳day | hour |\n| --- | --- |\n| Monday | 9 |\n|  | 10 \\| 11 |\n\nor | else"
    serve(lambda *_: "[ 1 Open on Mondays. ] [ 1 𝒳day ] [ 1 Monday | 9 ]").open(page)
    paste(page, text)
    ask(page)
    wait_for_answer(page)
    body = page.locator(".source .body")
    assert body.locator(".heading").all_inner_texts() == ["# Hours"]
    assert body.locator("th").all_inner_texts() == ["𝒳day", "hour"]
    assert body.locator("td").all_inner_texts() == ["Monday", "9", "", "10 \\| 11"]
    assert body.inner_text().startswith("# Hours\n\nOpen on Mondays. C# is not taught.")
    assert body.inner_text().endswith("or | else")
    marks = body.locator("mark")
    assert marks.all_inner_texts() == ["Open on Mondays.", "𝒳day", "Monday", "9"]
    assert body.locator("mark a:not([tabindex])").count() == 3
    page.locator(".quote").nth(2).click()
    assert page.locator("mark.pinned").all_inner_texts() == ["Monday", "9"]


def test_a_markdown_file_shows_its_headings_without_marks(serve: Serve, page: Page) -> None:
    text = "# Hours\n\nOpen on Mondays.\n\n## Fees\n\nC# is free.\n"
    site = serve(lambda *_: "[ 1 C ]")
    site.library.create("", "docs").put("school.md", text.encode())
    site.open(page)
    ask(page, "Is C# free?")
    wait_for_answer(page)
    body = page.locator(".source .body").first
    assert "## Fees\n\nC# is free." in (body.text_content() or ""), "offsets stay"
    assert body.locator(".heading").all_inner_texts()[-1] == "Fees"
    assert "C# is free." in body.inner_text()


PIECES = (
    "a", "b c", "5", "é", "字", "א", "\u202e", "\x00", "*", "**", "***", "****", "_", "__", "`", "``", "```", "```py\n",
    "~~~\n", "# ", "\n", "\n\n", "- ", "\n- ", "\n  - ", "\n1. ", "\n7) ", "\n    ", "\t", "> ", "\n> > ", "|", "\n| x | y |\n|---|:-:|\n",
    "---", "[", "]", "](", ")", "(", "!", "[x](https://e.org/p_q)", "![i](https://e.org/i)", "https://e.org/x_y.",
    "[j](javascript:x)", "\\", "\\*", "<b>", "&lt;", "\ufffc", " ",
)  # fmt: skip
QUOTE = "{}"
LONG = (
    "**a ", "*a_b ", "[", "[a](http://", "`", "` ``", "> ", "- ", " ", "|", "# ", "\\", "(", "https://e.org/....",
    "* a\n", "  - a\n", "| a |\n|---|\n", "```\n", "~", "#", "-", "_a", "\n",
)  # fmt: skip

CHECK = """async texts => {
  const { markup } = await import("/page/markup.js");
  const tags = new Set("P EM STRONG CODE PRE SPAN A H3 H4 H5 H6 UL OL LI HR BLOCKQUOTE DIV TABLE THEAD TBODY TR TH TD Q".split(" "));
  const letters = text => text.replace(/[^\\p{L}\\p{N}]/gu, "");
  const wrong = [];
  for (const text of texts) {
    const pieces = text.split("{}");
    const parts = pieces.flatMap((text, at) => [{ kind: "quote", text: `q*${at}_|`, mark: { status: "verified", text: `q*${at}_|` }, index: at }, { kind: at % 2 ? "claim" : "text", text }]).slice(1).filter(part => part.text);
    const written = parts.map(part => part.text).join("").replace(/!?\\[([^[\\]]*)\\]\\((https:[^)]*)\\)/g, "$1 $2");
    const drawn = document.createElement("div");
    drawn.append(markup(parts, part => {
      const node = document.createElement(part.kind === "quote" ? "q" : "span");
      node.append(part.text);
      return node;
    }));
    const quotes = [...drawn.querySelectorAll("q")].map(q => q.textContent);
    const wanted = parts.filter(part => part.kind === "quote").map(part => part.text);
    if (JSON.stringify(quotes) !== JSON.stringify(wanted)) wrong.push(["quotes", text]);
    if (drawn.querySelector("a a, a q")) wrong.push(["nested", text]);
    for (const link of drawn.querySelectorAll("a")) if (!link.href.startsWith("https://e.org/")) wrong.push(["link", text]);
    for (const each of drawn.querySelectorAll("*")) if (!tags.has(each.tagName)) wrong.push([each.tagName, text]);
    for (const host of drawn.querySelectorAll(".host")) host.textContent = ` ${host.parentNode.href}`;
    for (const item of drawn.querySelectorAll("li[value]")) item.prepend(item.getAttribute("value"));
    if (letters(drawn.textContent) !== letters(written)) wrong.push([drawn.textContent, written]);
  }
  return wrong;
}"""


def test_no_markup_hides_or_changes_text(serve: Serve, page: Page) -> None:
    serve().open(page)
    chosen = random.Random(17)
    texts = [
        "".join(chosen.choices((*PIECES, QUOTE, QUOTE), k=chosen.randrange(1, 30)))
        for _ in range(3000)
    ]
    wrong: list[Any] = page.evaluate(CHECK, texts)
    assert wrong == []


def test_long_answers_are_drawn_in_time(serve: Serve, page: Page) -> None:
    serve().open(page)
    for piece in LONG:
        for text in (piece * (20_000 // len(piece)), f"{QUOTE}{piece}" * 1000):
            seconds = page.evaluate(
                """async text => {
                  const { markup } = await import("/page/markup.js");
                  const parts = text.split("{}").flatMap((text, at) => [{ kind: "quote", text: "q", mark: { status: "verified", text: "q" }, index: at }, { kind: "text", text }]).slice(1);
                  const began = performance.now();
                  document.body.append(markup(parts, part => part.text));
                  document.body.offsetHeight;
                  return (performance.now() - began) / 1000;
                }""",
                text,
            )
            assert seconds < 5, (piece, seconds)
