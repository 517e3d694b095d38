"""`python -m hatchway.cli`: the `hatchway` command."""

import sys

from hatchway.cli import main

sys.exit(main())
