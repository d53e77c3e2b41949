"""The grids of the thumbnails of SJL, figures 2 and 3, as this code made them with seed 0: global
runs of ten, a teacher each, within the steps and finished.
"""

TENS = "0123456789a"
GRIDS = {
    "SJL-E.fig2a": ("000000000000346545", "55784699aaaaaaaaaa"),
    "SJL-E.fig2b": ("000000104555999a9a", "55784689aaaaaaaaaa"),
    "SJL-E.fig3a": (
        "000000006732465929898a99000000000000000000001003000000000100",
        "8796878799a9a9aaaa99aaaa2311aa9aaaaa01018aaaaaaa6752aa57aaaa",
    ),
    "SJL-E.fig3b": (
        "2033340176877898799889a8000000000000000000000020000000000000",
        "9879a7789aa8aaaaaaa9aaaa12118979aaaa0000aaa9a99a04428733a9aa",
    ),
}


def grid(item):
    """What `teacher_runs` gave for the teachers of the grid, in order; no run overflowed."""
    return [
        {"global_runs": TENS.index(w), "finished_runs": TENS.index(f), "diverged": 0}
        for w, f in zip(*GRIDS[item], strict=True)
    ]
