"""The error for a missing package: its purpose, its name, and a command that installs it."""

from __future__ import annotations

import pytest

from semqa.errors import MissingExtraError
from semqa.extras import require


def test_the_error_names_the_missing_package_and_the_command() -> None:
    with pytest.raises(MissingExtraError) as caught:
        require("no_such_module", extra="eval", purpose="This test")
    assert str(caught.value) == (
        "This test needs the extra eval: no_such_module is not installed. In a clone of semqa, "
        "run: pip install '.[eval]'"
    )
