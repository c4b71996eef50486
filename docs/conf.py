"""Configuration of Sphinx (`make docs`). Neither the build nor the pages access the network."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from stickslip import __version__  # noqa: E402

project = "stickslip"
author = "the authors of stickslip"
release = version = __version__

extensions = ["myst_nb", "reference_pages", "gallery_pages", "formulas"]
exclude_patterns = ["_build"]
nb_execution_mode = "off"  # use the outputs in the notebooks, which a test checks
nitpicky = True
language = "en"

# Anchors of headings as on git hosts; no typographic quotes, as `x'` is mathematics.
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"
smartquotes = False
highlight_language = "text"  # blocks without a language are commands and formulas

python_use_unqualified_type_names = True
python_maximum_signature_line_length = 72
python_display_short_literal_types = True
toc_object_entries_show_parents = "hide"
add_module_names = False

html_theme = "furo"
html_title = f"stickslip {__version__}"
html_static_path = ["static"]
html_css_files = ["house.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {"sidebar_hide_name": False, "navigation_with_keys": True}
