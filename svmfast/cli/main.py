"""The `svmfast` program: the table of commands, and the one place where errors are reported.

Nothing here, nor in what it imports, loads NumPy: help, version and completion start at Python's own speed.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import click

from svmfast import __version__
from svmfast.cli import messages, references, signals
from svmfast.cli.parsing import debug_option, message_of
from svmfast.command import SECTIONS
from svmfast.commands import command, commands
from svmfast.display import shown
from svmfast.errors import InputError, SvmfastError, WriteError

EXIT_BAD_INPUT = 2
EXIT_INTERNAL = 3
EXIT_INTERRUPTED = 130

_OUT_OF_RANGE = "(overflow|invalid value) encountered"
#: Distributions that only some commands need, by the name of the imported module.
_DISTRIBUTIONS = {"sklearn": "scikit-learn", "scipy": "scipy"}
_TRY_DEBUG = "; run again with --debug for the trace"


@dataclass
class Settings:
    """Settings of the whole program; the root context's ``obj``."""

    debug: bool = False


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        messages.line(f"svmfast {__version__}")
        ctx.exit()


class LazyGroup(click.Group):
    """A group that imports a command's module only when that command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = command(cmd_name)
        if found is None:
            return None
        from svmfast.cli.command import click_command

        return click_command(found)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        known = commands()
        width = max(map(len, known))
        for section, title in SECTIONS.items():
            rows = [(name.ljust(width), text) for name, (own, text) in known.items() if own == section]
            with formatter.section(title):
                formatter.write_dl(rows)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 done or yes, 1 a negative answer, 2 bad usage or input, 3 internal error, "
    "130 interrupted.",
    invoke_without_command=True,
)
@click.option(
    "--version", is_flag=True, expose_value=False, callback=_print_version, help="Show the version and exit."
)
@click.pass_context
def program(ctx: click.Context) -> None:
    """Make slow LIBSVM models fast and small, and prove how much was lost.

    Wherever a FILE is read, '-' is standard input; gzip, bzip2, xz and zstd files are recognized by content.
    An output whose name ends in .gz, .bz2, .xz or .zst is compressed.
    """
    if ctx.invoked_subcommand is None:
        messages.raw(ctx.get_help() + "\n", err=True)
        ctx.exit(EXIT_BAD_INPUT)


program.params += [debug_option(), *references.options(program)]


def run(args: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status (the console script's entry point).

    A command returns its exit status, or None for 0. Every failure leaves one line on stderr.
    """
    settings = Settings()
    try:
        instruction = os.environ.get("_SVMFAST_COMPLETE")
        if instruction:
            from click.shell_completion import shell_complete

            return shell_complete(program, {}, "svmfast", "_SVMFAST_COMPLETE", instruction)
        # Not click's main(): its exit status for a closed pipe is 1, ours is 0.
        arguments = list(sys.argv[1:] if args is None else args)
        with program.make_context("svmfast", arguments, obj=settings) as ctx:
            status = program.invoke(ctx)
        return _flushed(status if isinstance(status, int) else 0)
    except click.exceptions.Exit as exit_:
        return _flushed(exit_.exit_code)
    except BrokenPipeError:
        return _closed_pipe()
    except (KeyboardInterrupt, click.Abort):
        return signals.status_asked_for() or EXIT_INTERRUPTED
    except Exception as error:
        # A signal that arrives during the import of compiled code appears as an error of that code.
        if (status := signals.status_asked_for()) is not None:
            return status
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            return _closed_pipe()
        return _report(error, settings.debug)


def console() -> NoReturn:
    """Run the program as its own process.

    It exits without Python's finalization, which a thread waiting for input would block, and which takes
    longer than many predictions once NumPy is loaded.
    """
    _prepare_standard_streams()
    signals.install()
    # When NumPy is imported, its BLAS starts a thread for each core, and sends this process an interrupt if
    # one cannot start. Results are computed with one BLAS thread; only timing uses more.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # By default NumPy only warns about overflow and invalid values; no answer may depend on such a result.
    warnings.filterwarnings("error", _OUT_OF_RANGE, RuntimeWarning)
    status = run()
    if (processes := sys.modules.get("multiprocessing.util")) is not None:
        processes._run_finalizers(0)  # of semaphores: multiprocessing would report those that are left
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(status)


def _prepare_standard_streams() -> None:
    """Make closed descriptors fail on use, and escape characters that stdout cannot encode.

    Otherwise a file opened later would reuse the descriptor of a closed stream and receive the output of
    LIBSVM or a message.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # Closed standard input and output are opened in the wrong direction, so that using them fails.
            # Messages to a closed stderr are dropped without an error.
            null = os.open(os.devnull, os.O_RDONLY if descriptor == 1 else os.O_WRONLY)
            if null != descriptor:
                os.dup2(null, descriptor)
                os.close(null)
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 (stays open)
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _flushed(status: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        messages.discard(1)
    except OSError as error:
        return _report(WriteError("-", error.strerror or str(error)), False)
    return status


def _closed_pipe() -> int:
    """Discard further output: it is not an error if the reader of standard output stops reading."""
    messages.discard(1)
    return 0


def _report(error: Exception, debug: bool) -> int:
    """Print the error's line and return the exit status that goes with it."""
    line, status = describe(error)
    if debug:
        import traceback

        for part in traceback.format_exception(error):
            messages.lines(part.removesuffix("\n").split("\n"), err=True)
    messages.line(line.removesuffix(_TRY_DEBUG) if debug else line, err=True)
    return status


def _out_of_range(error: Exception) -> bool:
    """Whether a result of NumPy's or Python's arithmetic was infinite or NaN."""
    if isinstance(error, OverflowError):
        return bool(error.args) and error.args[0] in (errno.ERANGE, "math range error")
    return isinstance(error, RuntimeWarning) and re.match(_OUT_OF_RANGE, str(error)) is not None


def describe(error: Exception) -> tuple[str, int]:
    """The one-line message for `error`, and its exit status."""
    line, status = _describe(error)
    from svmfast.cli.flags import with_flags

    return shown(with_flags(line)), status


def _describe(error: Exception) -> tuple[str, int]:
    if isinstance(error, InputError):
        return str(error), error.exit_code
    if isinstance(error, SvmfastError):
        return f"svmfast: {error}", error.exit_code
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx else "svmfast"
        return f"{path}: {message_of(error)}; see '{path} --help'", EXIT_BAD_INPUT
    if isinstance(error, click.ClickException):
        return f"svmfast: {error.format_message()}", EXIT_BAD_INPUT
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in _DISTRIBUTIONS:
        name = _DISTRIBUTIONS[str(error.name).partition(".")[0]]
        return f"svmfast: this needs {name}, which is not installed; pip install {name}", EXIT_BAD_INPUT
    if isinstance(error, OSError) and error.strerror:
        where = error.filename if error.filename is not None else "svmfast"
        return (
            f"{os.fsdecode(where) if isinstance(where, bytes) else where}: {error.strerror}",
            EXIT_BAD_INPUT,
        )
    if _out_of_range(error):
        # NumPy or Python reported the error; its cause is not known here.
        return f"svmfast: a computation has no finite result: {error.args[-1]}{_TRY_DEBUG}", EXIT_BAD_INPUT
    if isinstance(error, MemoryError):
        return f"svmfast: out of memory{f' ({error})' if str(error) else ''}", EXIT_BAD_INPUT
    if isinstance(error, RuntimeError) and str(error) == "can't start new thread":
        return "svmfast: the system cannot start another thread", EXIT_BAD_INPUT
    text = " ".join(str(error).split())
    return f"svmfast: internal error: {type(error).__name__}: {text}{_TRY_DEBUG}", EXIT_INTERNAL
