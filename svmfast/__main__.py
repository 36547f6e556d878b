"""``python -m svmfast`` is the ``svmfast`` command."""

from svmfast.cli.main import console

console()
