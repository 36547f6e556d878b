"""``python -m svmfast`` is the ``svmfast`` command."""

import sys

from svmfast.cli.main import run

sys.exit(run())
