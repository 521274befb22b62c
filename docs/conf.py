"""How the site is built: ``make docs``.

The source directory is the root of the repository, so that links between pages, results and source files are the same
here and on the web pages of the repository; `include_patterns` says which files are pages.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
BUILT = ROOT / "build" / "examples"  # what examples write
sys.path.insert(0, str(DOCS))

import links
import llms
import mathml

import slimsvm

project = "slimsvm"
author = "The slimsvm developers"
copyright = "The slimsvm developers"
version = release = slimsvm.__version__

root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/api/*.rst",
    "docs/gallery/*.rst",
    "benchmarks/results/*.md",
    "docs/results/*.md",
    "cpp/README.md",
    "tests/fuzz/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
]
exclude_patterns = [".*", "build", "dist", "src", "docs/gallery/sg_execution_times.rst"]
templates_path = [str(DOCS / "templates")]
default_role = "code"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]

myst_enable_extensions = ["attrs_inline", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = [
    "myst.header",  # result pages are put together by their benchmarks
    "config.cache",  # functions in the settings of the gallery
]

autosummary_generate = True
autosummary_generate_overwrite = True
autodoc_typehints = "none"  # numpydoc's sections have them, in words
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

copybutton_exclude = ".linenos, .gp, .go"  # neither prompts nor outputs

html_theme = "furo"
html_title = "slimsvm"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_logo = "static/logo.svg"
html_favicon = "static/logo.svg"
html_extra_path = ["redirect"]
html_show_sourcelink = False
html_copy_source = False
html_math_renderer = "mathml"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5f8b", "color-brand-content": "#1f5f8b"},
    "dark_css_variables": {"color-brand-primary": "#8cc4ec", "color-brand-content": "#8cc4ec"},
    "sidebar_hide_name": False,
}
pygments_style = "friendly"
pygments_dark_style = "monokai"

# Shown and not run; their text says why.
NOT_RUN = ("demo",)


def arguments_of(gallery_conf: dict[str, Any], script_vars: dict[str, Any]) -> list[str]:
    """The command line of an example: files go into the folder of what is built."""
    BUILT.mkdir(parents=True, exist_ok=True)
    name = Path(script_vars["src_file"]).stem
    return {
        "onnx_session": ["--folder", str(BUILT)],
        "web_page": ["--output", str(BUILT / "digits.html")],
    }.get(name, [])


sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples")],
    "gallery_dirs": [str(DOCS / "gallery")],
    "filename_pattern": rf"/(?!({'|'.join(NOT_RUN)})\.py$)[^/]+$",
    "abort_on_example_error": True,
    "backreferences_dir": None,
    "default_thumb_file": str(DOCS / "static" / "logo.svg"),
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "reset_argv": arguments_of,
    "show_memory": False,
    "show_signature": False,
    "within_subsection_order": "ExampleTitleSortKey",
    "write_computation_times": False,
}


def is_not_ours(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what classes inherit from scikit-learn and Python: it is described there."""
    function = getattr(member, "fget", None) or inspect.unwrap(member) if callable(member) else member
    function = getattr(function, "fget", None) or function
    home = getattr(function, "__module__", "slimsvm") or ""
    return True if not home.startswith("slimsvm") or name.endswith("_request") else None


def setup(app: Any) -> None:
    """Connect what is particular to this site."""
    app.connect("autodoc-skip-member", is_not_ours)
    app.add_html_math_renderer("mathml", (mathml.inline, None), (mathml.block, None))
    app.connect("doctree-resolved", links.link_names)
    app.connect("build-finished", write_llms)


def write_llms(app: Any, failure: Exception | None) -> None:
    """Write llms.txt beside the site."""
    if failure is None and app.builder.format == "html":
        (Path(app.outdir) / "llms.txt").write_text(llms.text())
