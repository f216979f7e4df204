"""The documentation site: ``make docs`` builds it, offline, and a warning is an error."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import uli_fast  # noqa: E402

project = "uli_fast"
author = "The uli_fast developers"
version = release = uli_fast.__version__
html_title = f"uli_fast {version}"

extensions = [
    "myst_nb",  # Markdown, and tutorials that are run when they are read
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "reference",  # _ext/reference.py: a page for every public name
    "titles",  # _ext/titles.py: links show the title of a page
    "offline",  # _ext/offline.py: nothing is fetched
]
exclude_patterns = ["_build", "_ext", "_static", "**/.ipynb_checkpoints"]
nitpicky = True  # a name that leads nowhere is a warning, and so an error
# What is called "optional" or "(K, d)" in a docstring is no reference.
nitpick_ignore_regex = [(r"py:.*", r"[A-Z]|.*[ ,()].*")]

# Tutorials are executed whenever they are read; one that fails fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_in_temp = True
nb_merge_streams = True
nb_ipywidgets_js: dict[str, Any] = {}  # there are none, and pages fetch nothing
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline", "colon_fence"]

autosummary_generate = False  # _ext/reference.py writes the pages
autodoc_typehints = "none"  # parameters are described in words below
autodoc_class_signature = "mixed"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
python_maximum_signature_line_length = 88
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["copy.js", "formulas.js"]
html_logo = "_static/mark.svg"
html_favicon = "_static/mark.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "uli_fast"},
    "navbar_align": "left",
    "header_links_before_dropdown": 5,
    "navbar_persistent": ["search-button-field"],
    "navbar_end": ["theme-switcher"],
    "show_prev_next": True,
    "show_toc_level": 1,
    "navigation_depth": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": [],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "back_to_top_button": False,
}
ALONE = (
    "index",
    "get_started",
    "which_learner",
    "errata",
    "performance",
    "reliability",
    "changelog",
)
html_sidebars = {"**": ["sidebar-nav-bs"]} | {name: [] for name in ALONE}
