"""Print the API's remarks and warnings, with flags in place of parameter names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svmfast.cli.flags import with_flags
from svmfast.cli.messages import remark, warning
from svmfast.progress import Progress

if TYPE_CHECKING:
    from svmfast.api.listener import Listener


def listening(progress: Progress, quiet: bool) -> Listener:
    """Return a listener that prints: remarks unless `quiet`, warnings always."""
    from svmfast.api.listener import Listener

    return Listener(
        progress, lambda text: remark(with_flags(text), quiet), lambda text: warning(with_flags(text))
    )
