"""`python -m globalmin_check FILE`."""

import sys

from globalmin_check.command.cli import main

sys.exit(main())
