"""Progress of a training without a terminal."""

from __future__ import annotations

import pytest

from semqa.cli.train import training_progress


@pytest.mark.parametrize("quiet", [False, True])
def test_a_log_gets_a_line_every_so_often(
    quiet: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("semqa.cli.bench_watch.EVERY_SECONDS", 0)
    with training_progress(quiet=quiet) as progress:
        if progress.on_progress is not None:
            progress.on_progress(3, 20)
    assert capsys.readouterr().err == ("" if quiet else "3 of 20 steps\n")
