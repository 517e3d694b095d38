"""`python -m policy`: the policy commands without the rest of Hatchway."""

import sys

from policy.tools.commands import main

if __name__ == "__main__":
    sys.exit(main())
