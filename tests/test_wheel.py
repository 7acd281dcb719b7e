"""The wheel: complete, shadowing nobody, and working from another folder."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {"semqa": "semqa", "kernels": "semqa/kernels", "prompts": "semqa/prompts"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of the checkout, so that no earlier build leaks in."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    out = tmp_path_factory.mktemp("wheel")
    # With the setuptools that is installed: pip would download it for an environment of its own.
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "-w", out, copy], check=True)
    (path,) = out.glob("semqa_quotes-*.whl")
    return path


@pytest.mark.slow
def test_everything_travels(wheel: Path) -> None:
    shipped = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = {
        f"{target}/{path.relative_to(ROOT / name).as_posix()}"
        for name, target in PACKAGES.items()
        for path in (ROOT / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert shipped == expected


@pytest.mark.slow
def test_a_clean_environment_answers_from_another_folder(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env")
    folder = "Scripts" if sys.platform == "win32" else "bin"
    python = tmp_path / "env" / folder / "python"
    subprocess.run(
        [
            sys.executable, "-m", "pip", "--python", python, "install", "--quiet",
            "--disable-pip-version-check", "--no-compile", wheel,
        ],
        check=True,
    )  # fmt: skip
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "song.txt").write_text("Bing Crosby sang it in 1943.", encoding="utf-8")
    done = subprocess.run(
        [
            tmp_path / "env" / folder / "semqa",
            "answer",
            "Who sang it?",
            "--source",
            "song.txt",
            "--json",
        ],
        cwd=elsewhere,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["verified"] is True
    imported = "import semqa.kernels, semqa.prompts; import importlib.util as u; print(u.find_spec('kernels'))"
    shadow = subprocess.run(
        [python, "-c", imported], cwd=elsewhere, capture_output=True, text=True, check=True
    )
    assert shadow.stdout.strip() == "None"
