"""`python -m semqa` is `semqa`: the command line, and nothing that takes time before it."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; Ctrl-C ends it quietly from its first moment on, while it still loads."""
    try:
        from semqa.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
