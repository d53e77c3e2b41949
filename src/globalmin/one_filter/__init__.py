"""The two-layer network with one normalized filter (DU chapter 5): landscape, traps, phases,
basin.
"""
