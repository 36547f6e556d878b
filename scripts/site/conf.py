"""Sphinx's settings. The site is self-contained: no fonts or scripts from elsewhere."""

import re

from svmfast import __version__

project = "svmfast"
release = version = __version__
html_title = f"svmfast {__version__}"
html_theme = "furo"
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_use_index = False
html_static_path = ["static"]
html_css_files = ["site.css"]
# No date: the same sources make the same site.
html_last_updated_fmt = None

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
# Blocks without a language are output, formulas or commands.
highlight_language = "none"
pygments_dark_style = "github-dark"
smartquotes = False
# Docstrings name parameters in single backquotes.
default_role = "code"
napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_typehints = "none"
autodoc_class_signature = "mixed"


def _prepare(_app, _what, _name, _object, _options, lines):
    """Link the pages that a docstring names, and show bars such as those of ``|f|`` unchanged."""
    for index, line in enumerate(lines):
        parts = re.split("(`+[^`]+`+)", line)
        lines[index] = "".join(part if part.startswith("`") else _prepared(part) for part in parts)


def _prepared(text):
    return re.sub(r"\bdocs/([\w-]+)\.md", r":doc:`/\1`", text.replace("|", r"\|"))


def setup(app):
    """Connect the hook, before napoleon, which turns sections into fields."""
    app.connect("autodoc-process-docstring", _prepare, priority=400)
