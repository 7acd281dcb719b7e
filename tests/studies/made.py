"""Small studies, and a client for raters."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from semqa.server.settings import ServerSettings
from semqa.studies.app import create_app
from semqa.studies.folder import kind_of
from semqa.studies.kind import Input, Settings, Study
from semqa.studies.store import Store, new_study

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "quotesum.jsonl"

OUTPUTS: list[dict[str, Any]] = [
    {
        "item": "q1",
        "system": "secret-system",
        "task": "qrecc",
        "context": [{"speaker": "User", "text": "Who crossed Antarctica alone first?"}],
        "output": "Børge Ousland did, in 1997.",
        "source": {"title": "Ousland", "text": "HIDDEN: in 1997 he crossed Antarctica alone."},
    },
    {
        "item": "q2",
        "system": "other-system",
        "task": "cnndm",
        "output": "Felicity Aston covered 1,744 kilometres.",
        "source": "HIDDEN: Felicity Aston skied 1,744 kilometres in 59 days.",
    },
    {
        "item": "q3",
        "system": "secret-system",
        "task": "totto",
        "output": "Ann Lee scored 12 goals in 2004.",
        "table": {
            "title": "Ann Lee",
            "section": "HIDDEN",
            "rows": [
                [{"text": "Season", "header": True}, {"text": "Goals", "header": True}],
                [{"text": "2004", "highlighted": True}, "12"],
            ],
        },
    },
]


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def make_study(
    folder: Path,
    kind: str = "ais",
    inputs: list[Input] | None = None,
    *,
    raters: str = "ann,ben,eve",
    **settings: Any,
) -> Study:
    chosen = kind_of(kind)
    given = {"design": chosen.designs[0], "per_item": 3, "title": "A study", **settings}
    if inputs is None:
        folder.mkdir(parents=True)
        inputs = [Input(write_lines(folder / "outputs.jsonl", OUTPUTS))]
    items = chosen.read(inputs, given["design"])
    return new_study(
        folder / "study",
        Settings(kind=kind_of(kind), **given),
        items,
        raters.split(","),
        chosen.keep(inputs),
    )


def rate(store: Store, name: str, *stages: Mapping[str, Any]) -> None:
    """Give the same answers, by stage, to all items of a rater."""
    while (found := store.next(name)) is not None:
        for stage, values in enumerate(stages):
            store.save(name, found.id, stage, values, 1.0)
        assert store.assignment(name, found.id).done is not None


class Person:
    """An HTTP client of a rater, a reviewer or the owner."""

    def __init__(self, client: TestClient, token: str) -> None:
        self._client = client
        self._head = {"Authorization": f"Bearer {token}"}

    def get(self, path: str, status: int = 200) -> Any:
        return self._send("GET", path, status, None)

    def post(self, path: str, body: Mapping[str, Any], status: int = 200) -> Any:
        return self._send("POST", path, status, body)

    def next(self) -> Any:
        return self.get("/v1/next")

    def answer(
        self, task: Mapping[str, Any], status: int = 200, seconds: float = 1.0, **values: Any
    ) -> Any:
        body = {"stage": task["stage"], "values": values, "seconds": seconds}
        return self.post(f"/v1/tasks/{task['id']}/answers", body, status)

    def draft(self, task: Mapping[str, Any], seconds: float = 1.0, **values: Any) -> None:
        body = {"stage": task["stage"], "values": values, "seconds": seconds}
        self._send("PUT", f"/v1/tasks/{task['id']}/draft", 204, body)

    def _send(self, method: str, path: str, status: int, body: Mapping[str, Any] | None) -> Any:
        reply = self._client.request(method, path, json=body, headers=self._head)
        assert reply.status_code == status, reply.text
        return reply.json() if reply.content else None


class Site:
    """A study served in memory."""

    def __init__(self, client: TestClient, store: Store) -> None:
        self.client = client
        self.store = store

    def person(self, name: str) -> Person:
        return Person(self.client, self.store.rater(name).token)


@contextmanager
def served(study: Study, **more: Any) -> Iterator[Site]:
    store = Store(study, **more)
    app = create_app(store, ServerSettings(data=study.folder))
    try:
        with TestClient(app, raise_server_exceptions=False) as client:
            yield Site(client, store)
    finally:
        store.close()


class Served:
    """`semqa study serve` in a separate process, with the links by name."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        command = [sys.executable, "-m", "semqa", "study", "serve", str(folder)]
        self.process = subprocess.Popen(
            [*command, "--port", str(port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.links: dict[str, str] = {}
        assert self.process.stdout is not None
        for line in self.process.stdout:
            name, link = line.split()
            self.links[name] = link
            # The owner comes first, then the raters in the order added.
            if name == "eve":
                break
        assert "eve" in self.links, "the server did not start"
        self.port = int(self.links["owner"].split(":")[2].split("/")[0])

    def kill(self) -> None:
        """Kill the server without notice."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(40)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def serving(folder: Path, port: int = 0) -> Iterator[Served]:
    served = Served(folder, port)
    try:
        yield served
    finally:
        served.stop()
