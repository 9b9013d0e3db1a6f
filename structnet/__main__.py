"""``python -m structnet``."""

import sys

from structnet.cli import main

if __name__ == "__main__":
    sys.exit(main())
