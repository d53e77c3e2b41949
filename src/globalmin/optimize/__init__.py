"""Minimization of smooth functions: what a run leaves behind, the loop that follows it, and methods
that leave saddles.
"""
