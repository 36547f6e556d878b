"""The ``svmfast`` program, also as ``python -m svmfast``."""

from svmfast.import_path import leave_out_current_folder


def console() -> None:
    """Run the program as its own process; it does not return."""
    leave_out_current_folder()
    from svmfast.cli import plain

    plain.console()


if __name__ == "__main__":
    console()
