"""The explorer: one self-contained page that trains in the browser, shows loss, Gram spectrum,
landscape and trap, and exports weights that the command line certifies.
"""

from globalmin.explore.page import render, save_page

__all__ = ["render", "save_page"]
