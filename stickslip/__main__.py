"""`python -m stickslip`: the command line, for installations whose script is not on the path."""

import sys

from stickslip.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
