"""`python -m slimsvm` is the command `slimsvm`."""

import sys

from slimsvm.cli.main import main

sys.exit(main())
