"""The thumbnails of OS, figure 2, as this code made them with seed 0: runs (of three) that succeed
by their loss and that stop by their error; eight dimensions a width.
"""

AXIS = (3, 6, 8, 10, 12, 14, 18, 25)
COUNTS = {
    (
        100,
        "softplus",
        "fits",
    ): "00000000 00000023 00000333 00013333 00033333 00133333 00333333 02333333",
    (
        100,
        "softplus",
        "stops",
    ): "00000000 00000003 00000033 00000333 00003333 00013333 00033333 00233333",
    (
        100,
        "relu",
        "fits",
    ): "00000000 00000010 00000021 00002332 00002333 00033333 00233333 00333333",
    (
        100,
        "relu",
        "stops",
    ): "00000000 00000000 00000020 00000032 00000233 00003333 00013333 00023333",
    (
        200,
        "softplus",
        "fits",
    ): "00000000 00000000 00000002 00000003 00000033 00000033 00003333 00033333",
    (
        200,
        "softplus",
        "stops",
    ): "00000000 00000000 00000000 00000003 00000003 00000023 00000033 00002333",
    (
        200,
        "relu",
        "fits",
    ): "00000000 00000000 00000000 00000003 00000003 00000033 00000233 00003333",
    (
        200,
        "relu",
        "stops",
    ): "00000000 00000000 00000000 00000000 00000001 00000003 00000003 00000033",
}


def cell(point):
    """What `phase_cell` gave at this point; no run overflows where n/d < 35."""
    i, j = AXIS.index(point["k"]), AXIS.index(point["d"])
    shares = {
        rule: int(COUNTS[point["n"], point["activation"], rule].split()[i][j]) / 3
        for rule in ("fits", "stops")
    }
    return {**shares, "diverged": 0, "steps": 45_000, "median_error": 1.0}
