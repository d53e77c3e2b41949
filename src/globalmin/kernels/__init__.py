"""Gram matrices of wide networks (OS, DU chapter 2): limits, bounds of their spectra, widths,
rates, movement.
"""
