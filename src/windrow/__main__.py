"""The command `windrow`, which says what to install where it cannot run."""

from __future__ import annotations

import sys

from windrow.extras import MissingExtraError


def main() -> None:
    """Run the command line."""
    try:
        from windrow.cli import app
    except MissingExtraError as missing:
        print(f"windrow: {missing}", file=sys.stderr)
        sys.exit(2)
    app()


if __name__ == "__main__":
    main()
