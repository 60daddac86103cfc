"""Sphinx's configuration; `make site` stages the pages and builds them."""

from policrf._version import __version__

project = "policrf"
release = version = __version__
extensions = ["myst_parser"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"policrf {__version__}"
html_show_sphinx = False
highlight_language = "python"
exclude_patterns = ["_build"]
# Tables that commands write begin at the third level.
suppress_warnings = ["myst.header"]
