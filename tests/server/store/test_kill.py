"""Killed processes: acknowledged writes are kept, incomplete ones leave no trace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx

from semqa.server.store import Store

# Blocks after creating one of the last tables, until it is killed.
MIGRATION = """
import sys, time
from sqlalchemy import event
from semqa.server import database
from semqa.server.store import Store
def stop(*_, **__):
    print("within", flush=True)
    time.sleep(600)
event.listen(database.metadata.tables[sys.argv[2]], "after_create", stop)
Store(sys.argv[1]).migrate()
"""


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", "-c", script, *arguments], stdout=subprocess.PIPE, text=True
    )


def test_a_killed_migration_leaves_no_trace(url: str) -> None:
    process = start(MIGRATION, url, "messages")
    assert process.stdout is not None
    assert process.stdout.readline() == "within\n"
    process.kill()
    process.communicate(timeout=30)
    store = Store(url)
    store.migrate()
    talk = store.create_conversation("me", "whole")
    assert [each.id for each in store.conversations("me")] == [talk.id]
    store.close()


SERVER = """
import sys
from pathlib import Path
from semqa.retrieval.passages import Library
from semqa.server.app import create_app
from semqa.server.settings import ServerSettings
from semqa.server.running import Running
settings = ServerSettings(data=Path(sys.argv[2]), port=0, database=sys.argv[1])
app = create_app(settings, library=Library(settings.library, encoder=False))
running = Running(app, settings, lambda: print(running.port, flush=True))
running.run()
"""


def test_acknowledged_answers_survive_a_kill(url: str, tmp_path: Path) -> None:
    given: list[dict[str, Any]] = []
    process = start(SERVER, url, str(tmp_path))
    assert process.stdout is not None
    with httpx.Client(
        base_url=f"http://127.0.0.1:{int(process.stdout.readline())}", timeout=60
    ) as client:
        talk = client.post("/v1/conversations").json()["id"]
        killer = threading.Timer(0.1, os.kill, (process.pid, signal.SIGKILL))
        try:
            while True:
                body = {
                    "question": f"Who sang it the {len(given)}th time?",
                    "sources": [{"text": f"Bing sang it the {len(given)}th time."}],
                    "conversation": talk,
                }
                reply = client.post("/v1/answers", json=body)
                assert reply.status_code == 200, reply.text
                given.append(reply.json())
                if len(given) == 3:  # and killed while it goes on
                    killer.start()
        except httpx.TransportError:
            killer.join()
            process.communicate(timeout=30)
    assert given
    store = Store(url)
    messages = store.conversation("", talk).messages
    store.add_message("", talk, "user", {"question": "and on"})
    store.close()
    answers = [each.content for each in messages if each.role == "assistant"]
    # At most one answer was stored but not acknowledged.
    assert [each for each in answers if each in given] == given
    assert len(answers) <= len(given) + 1
    questions = [each.content["question"] for each in messages if each.role == "user"]
    assert all(each["question"] in questions for each in given)
