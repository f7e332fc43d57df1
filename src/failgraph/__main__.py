"""Run the command line as `python -m failgraph`."""

import sys

from failgraph.cli import main

sys.exit(main())
