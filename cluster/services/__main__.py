"""`python -m cluster.services` is `g2d2 services`."""

import sys

from pipelines.cli import main

sys.exit(main(["services", *sys.argv[1:]]))
