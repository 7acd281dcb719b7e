"""`kill -9` of the server while it saves: acknowledged answers are not lost."""

from __future__ import annotations

import threading
from pathlib import Path

import httpx
import pytest

from semqa.studies.folder import open_study
from semqa.studies.kind import Input
from semqa.studies.store import Store
from tests.studies.made import OUTPUTS, make_study, serving, write_lines


def rate(link: str, acknowledged: list[tuple[str, int]], stop: threading.Event) -> None:
    """Answer items until the server is gone, and record the acknowledged answers."""
    base, _, token = link.partition("#")
    with httpx.Client(
        base_url=base, headers={"Authorization": f"Bearer {token}"}, timeout=60
    ) as client:
        try:
            while not stop.is_set() and "end" not in (task := client.get("/v1/next").json()):
                body = {"stage": 0, "values": {"interpretable": False}, "seconds": 1}
                reply = client.post(f"/v1/tasks/{task['id']}/answers", json=body)
                if reply.status_code == 200:
                    acknowledged.append((token, task["id"]))
        except httpx.HTTPError:
            return


@pytest.mark.slow
def test_no_acknowledged_answer_is_lost(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    rows = [{**OUTPUTS[1], "item": f"q{n}"} for n in range(200)]
    path = write_lines(tmp_path / "in" / "outputs.jsonl", rows)
    study = make_study(tmp_path, inputs=[Input(path)])
    acknowledged: list[tuple[str, int]] = []
    stop = threading.Event()
    with serving(study.folder) as server:
        raters = [
            threading.Thread(target=rate, args=(server.links[name], acknowledged, stop))
            for name in ("ann", "ben", "eve")
        ]
        for each in raters:
            each.start()
        while len(acknowledged) < 50:
            assert any(each.is_alive() for each in raters)
            stop.wait(0.01)
        server.kill()
        stop.set()
        for each in raters:
            each.join(30)
    store = Store(open_study(study.folder))
    tokens = {each.name: each.token for each in store.raters()}
    done = {(tokens[name], number) for name in tokens for number, over in store.order(name) if over}
    rated = store.rated()
    store.close()
    assert set(acknowledged) <= done
    assert len(set(acknowledged)) == len(acknowledged)
    # At most one answer per rater was saved but not acknowledged.
    assert len(acknowledged) <= len(rated) <= len(acknowledged) + 3
