"""The page in a real browser: quotes and their places in the sources highlight each other."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from semqa import QuotedAnswer, Source
from semqa.quotes.render import to_html
from tests.server.browser.conftest import BROWSER, FLAGS

# Hovers over each quote and place in turn and records what is highlighted.
PROBE = """<script>
const all = [...document.querySelectorAll("[data-quotes]")];
const lit = () => all.filter(e => e.classList.contains("on")).map(e => e.tagName + e.dataset.quotes);
const seen = all.map(e => {
  e.dispatchEvent(new MouseEvent("mouseenter"));
  const on = lit();
  e.dispatchEvent(new MouseEvent("mouseleave"));
  return [e.tagName + e.dataset.quotes, on, lit()];
});
document.body.textContent = "PROBE" + JSON.stringify(seen) + "END";
</script>"""


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium or Chrome")
def test_quotes_and_places_highlight_each_other(tmp_path: Path) -> None:
    answer = QuotedAnswer.parse("[1 b c] and [1 c d] by [2 e].", [Source("a b c d"), Source("e")])
    page = to_html(answer)
    # The page allows only its own script, so the probe removes that policy.
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    path = tmp_path / "page.html"
    path.write_text(page.replace("</body>", PROBE + "</body>"), encoding="utf-8")
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    done = subprocess.run(
        [str(BROWSER), "--headless", *FLAGS, profile, "--dump-dom", path.as_uri()],
        capture_output=True,
        timeout=60,
        check=True,
        encoding="utf-8",
    )
    found = re.search("PROBE(.*)END", done.stdout, re.DOTALL)
    assert found is not None
    first, second, third = ["A0", "MARK0", "MARK0 1"], ["A1", "MARK0 1", "MARK1"], ["A2", "MARK2"]
    assert json.loads(found.group(1)) == [
        ["A0", first, []],
        ["A1", second, []],
        ["A2", third, []],
        ["MARK0", first, []],
        ["MARK0 1", ["A0", "A1", "MARK0", "MARK0 1", "MARK1"], []],
        ["MARK1", second, []],
        ["MARK2", third, []],
    ]
