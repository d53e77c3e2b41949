"""The fast route of the checker: the same claims in float64 with proved rounding bounds and
confirmed matrix products (`spec/fast-route.md`). It needs numpy, and is imported only where it is
used; whatever it does not prove is left to balls.
"""
