"""Linear algebra: symmetric matrices as vectors, spectra, inertia, quartic forms, balls, witnesses
of definiteness.
"""
