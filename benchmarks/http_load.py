"""Load test for `semqa serve` over loopback: concurrent streams, time to first text and to the end.

The server runs in its own process with the extractive engine; this process sends the load. Each
stream asks a question about the sample's passages as a chat completion, reads it to the end, and
compares it with the same request without streaming. The load starts once the server has loaded its
encoder, if it has one. Finally, clients disconnect early or never read; the server must release
everything they used.

    python benchmarks/http_load.py [--streams 1,16,128] [--seconds 20] [--vanishing 10000]
        [--workers N] [--database URL] [--smoke]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

from machine import describe_machine

SAMPLE = Path(__file__).resolve().parents[1] / "examples" / "antarctica.jsonl"
QUESTIONS = (
    "Who crossed Antarctica alone?",
    "When did Felicity Aston cross Antarctica?",
    "How did Børge Ousland cross Antarctica?",
    "Who was the first woman to cross Antarctica alone?",
    "What is the capital of France?",
)


FIRST = re.compile(rb'"content":"[^"]')


class Timing(NamedTuple):
    """Seconds from sending a request to the first text and to the end."""

    first: float
    end: float


class Server:
    """A server in its own process."""

    def __init__(self, folder: str, *more: str) -> None:
        command = [sys.executable, "-m", "semqa", "serve", "--port", "0", "--data", folder, *more]
        self.log = Path(folder, "log").open("w+", encoding="utf-8")  # noqa: SIM115  (closed in close())
        self.process = subprocess.Popen(command, stderr=self.log, stdout=subprocess.DEVNULL)
        self.port = self._port()

    def _port(self) -> int:
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline and self.process.poll() is None:
            self.log.seek(0)
            if found := re.search(r"semqa is at http://[^:]+:([0-9]+)/", self.log.read()):
                return int(found[1])
            time.sleep(0.05)
        self.process.terminate()
        sys.exit("The server did not start.")

    def status(self, name: str) -> int:
        """Return a value from /proc/PID/status."""
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(re.search(rf"^{name}:\s+([0-9]+)", text, re.MULTILINE)[1])  # type: ignore[index]

    def sockets(self) -> int:
        """Return the number of open sockets of the process."""
        count = 0
        for file in Path(f"/proc/{self.process.pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed in the meantime
                count += str(file.readlink()).startswith("socket:")
        return count

    def wait_until_loaded(self) -> str:
        """Wait until the encoder is loaded in the background; return its state."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            status, body = asyncio.run(_get(self.port, "/readyz"))
            if status == 200 and (state := json.loads(body)["encoder"]) != "loading":
                return str(state)
            time.sleep(0.2)
        sys.exit("The encoder did not load.")

    def metric(self, name: str) -> float:
        """Return one of the server's metrics."""
        _, body = asyncio.run(_get(self.port, "/metrics"))
        return float(re.search(rf"^{name} (\S+)$", body.decode(), re.MULTILINE)[1])  # type: ignore[index]

    def close(self) -> int:
        """Stop the server with SIGINT; return its exit code."""
        self.process.send_signal(2)
        code = self.process.wait(60)
        self.log.close()
        return code


def request(question: str, sources: list[dict[str, str]], *, stream: bool) -> bytes:
    """Return the bytes of an HTTP request."""
    body = json.dumps(
        {
            "model": "semqa",
            "messages": [{"role": "user", "content": question}],
            "sources": sources,
            "stream": stream,
        }
    ).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _get(port: int, path: str) -> tuple[int, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    try:
        return await _reply(reader)
    finally:
        writer.close()


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
    return int(lines[0].split()[1]), fields


async def _reply(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    status, fields = await _head(reader)
    return status, await reader.readexactly(int(fields["content-length"]))


async def _chunks(reader: asyncio.StreamReader) -> Any:
    while size := int(await reader.readline(), 16):
        data = await reader.readexactly(size + 2)
        yield data[:-2]
    await reader.readline()


async def ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes, expected: object
) -> Timing:
    """Send one request, read the whole stream and check it."""
    started = time.perf_counter()
    writer.write(sent)
    status, _ = await _head(reader)
    if status != 200:
        raise ValueError(f"status {status}")
    first = 0.0
    body = b""
    async for chunk in _chunks(reader):
        if not first and FIRST.search(chunk):
            first = time.perf_counter() - started
        body += chunk
    end = time.perf_counter() - started
    if read_stream(body) != expected:
        raise ValueError("The stream differs from the reply without streaming.")
    return Timing(first, end)


def read_stream(body: bytes) -> tuple[str, str]:
    """Return content and annotations of a complete stream."""
    content, annotations = "", []
    lines = body.split(b"\n\n")
    if lines[-2] != b"data: [DONE]":
        raise ValueError("The stream is incomplete.")
    for line in lines[:-2]:
        delta = json.loads(line.removeprefix(b"data: "))["choices"][0]["delta"]
        content += delta.get("content", "")
        annotations += delta.get("annotations", [])
    return content, json.dumps(annotations)


async def expectations(port: int, sources: list[dict[str, str]]) -> dict[str, object]:
    """Return the expected result of each stream: the reply without streaming."""
    expected: dict[str, object] = {}
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for question in QUESTIONS:
        writer.write(request(question, sources, stream=False))
        status, body = await _reply(reader)
        message = json.loads(body)["choices"][0]["message"]
        expected[question] = (message["content"], json.dumps(message["annotations"]))
        if status != 200 or not message["content"]:
            sys.exit("The server does not answer; nothing was timed.")
    writer.close()
    return expected


async def load(port: int, streams: int, seconds: float) -> tuple[list[Timing], int, float]:
    """Keep this many streams open for this long; return timings, errors and seconds."""
    sources = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    sources = [{k: v for k, v in s.items() if isinstance(v, str)} for s in sources]
    expected = await expectations(port, sources)
    sent = {question: request(question, sources, stream=True) for question in QUESTIONS}
    timings: list[Timing] = []
    errors = 0
    started = time.perf_counter()

    async def one(seed: int) -> None:
        nonlocal errors
        rng = random.Random(seed)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() - started < seconds:
            question = rng.choice(QUESTIONS)
            try:
                timings.append(await ask(reader, writer, sent[question], expected[question]))
            except (ValueError, OSError, asyncio.IncompleteReadError) as error:
                errors += 1
                print(f"error: {error!r}", file=sys.stderr)
                writer.close()
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()

    await asyncio.gather(*(one(seed) for seed in range(streams)))
    return timings, errors, time.perf_counter() - started


async def disconnect_early(port: int, clients: int) -> None:
    """Start clients that disconnect during the request, before the reply, or during it."""
    sources = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    sent = request(QUESTIONS[0], sources, stream=True)
    gate = asyncio.Semaphore(500)

    async def one(seed: int) -> None:
        rng = random.Random(seed)
        async with gate:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            kind = seed % 4
            if kind == 0:
                writer.write(sent[: rng.randrange(len(sent))])
            else:
                writer.write(sent)
            if kind == 1:
                await reader.read(rng.randrange(1, 200))
            elif kind == 2:
                await asyncio.sleep(rng.random() / 10)
            elif kind == 3:  # reset the connection
                linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
                writer.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, linger
                )
            writer.close()

    await asyncio.gather(*(one(seed) for seed in range(clients)))


def main() -> None:
    """Run the load; print a table and one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", default="1,16,128")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument(
        "--vanishing", type=int, default=10_000, help="number of clients that disconnect early"
    )
    parser.add_argument("--workers", type=int, default=1, help="more than one skips --vanishing")
    parser.add_argument(
        "--database",
        help="database URL (default: SQLite in a new folder); skips --vanishing",
    )
    parser.add_argument(
        "--smoke", action="store_true", help="short runs, to check that the benchmark works"
    )
    options = parser.parse_args()
    seconds = 0.4 if options.smoke else options.seconds
    streams = [1, 8] if options.smoke else [int(n) for n in options.streams.split(",")]
    vanishing = 20 if options.smoke else options.vanishing
    machine = describe_machine()
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    with tempfile.TemporaryDirectory() as folder:
        database = ["--database", options.database] if options.database else []
        server = Server(folder, "--workers", str(options.workers), *database)
        try:
            encoder = server.wait_until_loaded()
            print(f"encoder {encoder}")
            rows = measure(server, streams, seconds)
            # With several workers, the main process only supervises them; connections to a database
            # are kept in a pool.
            alone = options.workers == 1 and not options.database
            left = disconnect_clients(server, vanishing) if alone else {}
        finally:
            code = server.close()
    if code:
        sys.exit(f"The server exited with code {code}.")
    record = {"benchmark": "http_load", "seconds": seconds, "encoder": encoder}
    record["workers"] = options.workers
    record |= {"load": rows, "vanished": left}
    print(json.dumps({**record, **machine}))


def measure(server: Server, streams: list[int], seconds: float) -> list[dict[str, float]]:
    """Measure each number of streams and return one row for each."""
    asyncio.run(load(server.port, 4, min(seconds, 2.0)))
    print("streams  requests/s   first p50    p99     end p50    p99     errors  MiB before, after")
    rows = []
    for count in streams:
        before = server.status("VmRSS") / 1024
        timings, errors, took = asyncio.run(load(server.port, count, seconds))
        row = {
            "streams": count,
            "requests": len(timings),
            "per_second": len(timings) / took,
            "first_p50": median(t.first for t in timings),
            "first_p99": quantiles([t.first for t in timings], n=100)[98],
            "end_p50": median(t.end for t in timings),
            "end_p99": quantiles([t.end for t in timings], n=100)[98],
            "errors": errors,
            "mib_before": before,
            "mib_after": server.status("VmRSS") / 1024,
        }
        rows.append(row)
        print(
            f"{count:7} {row['per_second']:11.1f} {row['first_p50'] * 1000:8.1f} ms "
            f"{row['first_p99'] * 1000:7.1f} {row['end_p50'] * 1000:7.1f} ms "
            f"{row['end_p99'] * 1000:7.1f} {errors:9} {before:9.0f} {row['mib_after']:9.0f}"
        )
    return rows


def disconnect_clients(server: Server, clients: int) -> dict[str, float]:
    """Let clients disconnect early and measure what the server did not release."""
    sockets, threads, before = server.sockets(), server.status("Threads"), server.status("VmRSS")
    started = time.perf_counter()
    asyncio.run(disconnect_early(server.port, clients))
    deadline = time.monotonic() + 180
    while True:
        # In this order, because asking for the metric opens a connection.
        answers, open_now = server.metric("semqa_answers_under_way"), server.sockets()
        if (answers == 0 and open_now <= sockets) or time.monotonic() > deadline:
            break
        time.sleep(0.2)
    left: dict[str, float] = {
        "clients": clients,
        "seconds": time.perf_counter() - started,
        "answers_left": answers,
        "sockets_more": open_now - sockets,
        "threads_more": server.status("Threads") - threads,
        "mib_more": (server.status("VmRSS") - before) / 1024,
    }
    print(", ".join(f"{name} {value:g}" for name, value in left.items()))
    if left["answers_left"] or left["sockets_more"] > 0:
        sys.exit("The server did not release everything after clients disconnected.")
    return left


if __name__ == "__main__":
    main()
