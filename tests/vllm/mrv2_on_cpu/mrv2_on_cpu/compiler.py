"""A compiler that is never asked."""

from __future__ import annotations

from typing import Any

from triton.backends import compiler


class NoCompiler(compiler.BaseBackend):  # type: ignore[misc]
    @staticmethod
    def supports_target(target: Any) -> bool:
        return bool(target.backend == "cpu")

    def hash(self) -> str:
        return "interpreted"

    def parse_options(self, options: dict[str, Any]) -> Any:
        raise NotImplementedError

    def add_stages(self, stages: dict[str, Any], options: Any, language: Any) -> None:
        raise NotImplementedError

    def load_dialects(self, context: Any) -> None:
        raise NotImplementedError

    def get_module_map(self) -> dict[str, Any]:
        return {}
