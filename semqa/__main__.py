"""Run the command line with `python -m semqa`. Keep this module cheap to import."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line. Ctrl-C exits quietly, even while modules are still being imported."""
    try:
        from semqa.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
