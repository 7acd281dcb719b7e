"""`semqa serve --workers N`: answers per second, and whether the workers see the same data.

For each N a server is started on an empty folder. A document is uploaded and a conversation begun, each
over a connection of its own, and both are read over many others, which different workers take. Then
streams ask about passages as in `http_load.py`. The load comes from this machine, too: with as many
workers as cores they compete with it.

    python benchmarks/workers.py [--workers 1,2,4] [--database URL] [--streams 16] [--seconds 15] [--smoke]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from statistics import median, quantiles
from typing import Any

import httpx
from http_load import Server, load
from machine import describe_machine

CONNECTIONS = 40


def check(port: int) -> dict[str, float]:
    """Exit unless what one connection writes is there for all others at once."""
    url = f"http://127.0.0.1:{port}"
    httpx.post(f"{url}/v1/collections", json={"name": "c"}).raise_for_status()
    text = b"The bridge was opened in 1932 by the mayor."
    httpx.post(
        f"{url}/v1/collections/c/documents", files={"file": ("a.txt", text)}, timeout=120
    ).raise_for_status()
    talk = httpx.post(f"{url}/v1/conversations", json={"title": "t"}).json()["id"]
    slowest = 0.0
    for number in range(CONNECTIONS):
        started = time.perf_counter()
        body = {"question": "When was the bridge opened?", "collection": "c", "conversation": talk}
        reply = httpx.post(f"{url}/v1/answers", json=body, timeout=120)
        slowest = max(slowest, time.perf_counter() - started)
        if reply.status_code != 200 or "1932" not in reply.json()["plain"]:
            sys.exit(f"question {number}: {reply.status_code} {reply.text[:200]}")
        kept = httpx.get(f"{url}/v1/conversations/{talk}").json()["messages"]
        if len(kept) != 2 * (number + 1):
            sys.exit(f"{len(kept)} messages after {number + 1} questions")
    return {"connections": 2 * CONNECTIONS, "slowest_answer": slowest}


def main() -> None:
    """Measure each number of workers; print a table and one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--database", help="one for each number of workers, separated by spaces")
    parser.add_argument("--streams", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--smoke", action="store_true", help="a moment each: does it work at all?")
    options = parser.parse_args()
    counts = [2] if options.smoke else [int(n) for n in options.workers.split(",")]
    databases = options.database.split() if options.database else [""] * len(counts)
    seconds = 0.5 if options.smoke else options.seconds
    machine = describe_machine()
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    print("workers   answers/s   first p50     p99   errors")
    rows = []
    for count, database in zip(counts, databases, strict=True):
        more = ["--workers", str(count), *(["--database", database] if database else [])]
        with tempfile.TemporaryDirectory() as folder:
            server = Server(folder, *more)
            try:
                server.wait_until_loaded()
                checked = check(server.port)
                asyncio.run(load(server.port, 4, min(seconds, 2.0)))
                timings, errors, took = asyncio.run(load(server.port, options.streams, seconds))
            finally:
                code = server.close()
        if code or errors:
            sys.exit(f"{errors} errors; the server ended with {code}")
        first = [t.first for t in timings]
        row: dict[str, Any] = {
            "workers": count,
            **checked,
            "per_second": len(timings) / took,
            "first_p50": median(first),
            "first_p99": quantiles(first, n=100)[98],
        }
        rows.append(row)
        print(
            f"{count:7} {row['per_second']:11.1f} "
            f"{row['first_p50'] * 1000:8.1f} ms {row['first_p99'] * 1000:7.1f} {errors:8}"
        )
    kind = "postgresql" if options.database else "sqlite"
    record = {"benchmark": "workers", "streams": options.streams, "seconds": seconds}
    print(json.dumps({**record, "database": kind, "rows": rows, **machine}))


if __name__ == "__main__":
    main()
