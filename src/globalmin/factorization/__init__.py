"""Asymmetric matrix factorization (DU section 4.2): landscape, step schedules, rank one,
training.
"""
