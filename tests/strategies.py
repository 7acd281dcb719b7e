"""Hypothesis strategies for sources and marked answers, hostile ones included."""

from __future__ import annotations

from hypothesis import strategies as st

from semqa import Source

HOSTILE_PIECES = (
    "[", "]", "[ 1 ", "[1 ", " ]", "[ 2 a ]", "[ 0 a ]", "[ 01 a ]", "[1]", "[ 1 ]", "[1, 2]", "[sic]",
    "[ 99999999999999999999 a ]", "[ ١ a ]", "\u202e", "e\u0301", "👩‍👩‍👧", "שלום", "日本語", "\x00", "\n", "\u00a0", "\u2028", ".", "<b>", "a",
)  # fmt: skip

texts = st.text(max_size=40) | st.lists(
    st.sampled_from(HOSTILE_PIECES) | st.text(max_size=4), max_size=12
).map("".join)

sources = st.lists(
    st.builds(Source, text=texts | st.text("ab ", max_size=30), title=st.text("ab ", max_size=6)),
    max_size=4,
)


@st.composite
def answers(draw: st.DrawFn) -> tuple[str, list[Source]]:
    """Draw a marked answer, most of whose spans are cut from its sources."""
    given = draw(sources)
    parts = []
    for _ in range(draw(st.integers(0, 6))):
        parts.append(draw(texts))
        if draw(st.booleans()) and given:
            number = draw(st.integers(1, len(given)))
            field = given[number - 1].field(draw(st.sampled_from(["body", "title"])))
            start = draw(st.integers(0, len(field)))
            span = field[start : draw(st.integers(start, len(field)))]
            gap = draw(st.sampled_from([" ", ""]))
            named = draw(st.integers(0, len(given) + 1))
            parts.append(f"[{gap}{named} {span}{gap}]")
    return "".join(parts), given
