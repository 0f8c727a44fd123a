"""The site of docs/: `cargo xtask docs` builds it, and fails on a link that leads nowhere."""

project = "Ferrodyn"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
master_doc = "index"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
html_theme = "alabaster"
html_theme_options = {
    "description": "Fast capture of PyTorch programs",
    "page_width": "1100px",
    "fixed_sidebar": True,
}
html_copy_source = False
# Links to files that are no pages (ARCHITECTURE.md, sources) are checked by a test.
suppress_warnings = ["myst.xref_missing"]
