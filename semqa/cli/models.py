"""`semqa models`: list the models on this machine and set the default engine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from semqa.cli.choice import BUILT_IN, EngineOptions, choose, save_default, saved_default
from semqa.cli.command import taking
from semqa.cli.options import AsJson, flag
from semqa.cli.output import json_line, say, write_result
from semqa.engines import check_options

app = typer.Typer(help="List models and set the default engine.")

ENDPOINTS = {8000: "vLLM", 8080: "llama.cpp", 1234: "LM Studio", 11434: "Ollama"}
"""Local ports to probe, and the server that uses each by default."""

_TIMEOUT = 0.5
_MAX_MODELS = 200
_MAX_PATHS = 20_000


@app.callback(invoke_without_command=True)
def models(context: typer.Context, as_json: AsJson = False) -> None:
    """List the models on this machine and the default engine.

    Searches the Hugging Face cache, and local servers on their usual ports (8000, 8080, 1234,
    11434).
    """
    if context.invoked_subcommand is not None:
        return
    default = _default()
    endpoints, folders = _endpoints(), list(_folders())
    if as_json:
        found = {"default": default, "endpoints": endpoints, "folders": folders}
        write_result(json_line(found, indent=2))
        return
    lines = [f"default: {_shown(default)} ({default['from']})"]
    for endpoint in endpoints:
        lines += ["", f"{endpoint['server']} at {endpoint['base_url']}"]
        lines += [
            f"  --engine openai:{name} --base-url {endpoint['base_url']}"
            for name in endpoint["models"]
        ]
    if folders:
        lines += ["", "model folders"]
        lines += [
            f"  --engine transformers:{each['model']}  ({each['bytes'] / 1e9:.1f} GB)"
            for each in folders
        ]
    write_result("\n".join(lines))
    if not (endpoints or folders):
        say("No models found. See docs/endpoints.md for how to get one.")


@app.command(name="use", cls=taking(EngineOptions))
def use(
    ctx: typer.Context,
    engine: Annotated[
        str, typer.Argument(help="As for --engine; extractive restores the built-in default.")
    ],
) -> None:
    """Save ENGINE and its options as the default.

    SEMQA_ENGINE and --engine override it.
    """
    options: EngineOptions = ctx.obj[EngineOptions]
    choice = choose(engine, options)
    check_options(choice.engine, choice.options)
    kept = save_default(engine, options)
    say(f"default: {_shown(kept._asdict())}")


def _default() -> dict[str, Any]:
    """Return the default engine and where it was set."""
    if named := os.environ.get("SEMQA_ENGINE"):
        return {"engine": named, "options": {}, "from": "SEMQA_ENGINE"}
    kept = saved_default()
    if kept is None:
        return {"engine": BUILT_IN, "options": {}, "from": "built in"}
    return {**kept._asdict(), "from": "saved"}


def _shown(default: dict[str, Any]) -> str:
    options = (f"{flag(name)} {value}" for name, value in default["options"].items())
    return " ".join([default["engine"], *options])


def _endpoints() -> list[dict[str, Any]]:
    """Return the local servers that list their models; they are probed in parallel."""
    from concurrent.futures import ThreadPoolExecutor

    import httpx

    with (
        httpx.Client(timeout=_TIMEOUT, trust_env=False) as client,
        ThreadPoolExecutor(len(ENDPOINTS)) as pool,
    ):
        asked = pool.map(lambda port: _ask(client, port), ENDPOINTS)
        return [found for found in asked if found is not None]


def _ask(client: Any, port: int) -> dict[str, Any] | None:
    import httpx

    url = f"http://127.0.0.1:{port}/v1"
    try:
        value = client.get(f"{url}/models").raise_for_status().json()
        listed = [each for each in value["data"] if isinstance(each["id"], str)]
    except (httpx.HTTPError, ValueError, KeyError, TypeError, RecursionError):
        return None
    if any(each.get("owned_by") == "semqa" for each in listed):
        return None
    return {"server": ENDPOINTS[port], "base_url": url, "models": [each["id"] for each in listed]}


def _hub() -> Path:
    """Return the Hub's cache folder, found as huggingface_hub does."""
    if named := os.environ.get("HF_HUB_CACHE"):
        return Path(named).expanduser()
    home = os.environ.get("HF_HOME")
    return (Path(home).expanduser() if home else Path.home() / ".cache" / "huggingface") / "hub"


def _folders() -> Iterator[dict[str, Any]]:
    """Yield the language models in the Hub's cache."""
    for folder in _within(_hub(), "models--*")[:_MAX_MODELS]:
        for config in _within(folder, "snapshots/*/config.json")[:1]:
            try:
                kinds = json.loads(config.read_text("utf-8"))["architectures"]
            except (OSError, ValueError, KeyError, TypeError):
                continue
            if any(
                "CausalLM" in str(kind) or "ConditionalGeneration" in str(kind) for kind in kinds
            ):
                name = folder.name.removeprefix("models--").replace("--", "/")
                size = sum(path.stat().st_size for path in _within(config.parent, "*.safetensors"))
                yield {"model": name, "bytes": size}


def _within(folder: Path, pattern: str) -> list[Path]:
    """Return the readable paths that match a pattern, sorted; at most `_MAX_PATHS`."""
    try:
        return sorted(path for path in islice(folder.glob(pattern), _MAX_PATHS) if path.exists())
    except OSError:
        return []
