"""``python -m gsppca`` is the command line."""

import sys

from gsppca.cli import main

if __name__ == "__main__":
    sys.exit(main())
