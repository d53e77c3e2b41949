r"""Quadratic networks $f(x) = \sum_l v_l (w_l\cdot x)^2$ (SJL, GKZ): duality, solvers, barrier,
census, identifiability.
"""
