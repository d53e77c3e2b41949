"""The landscape around a network: what kind of point its weights are, how far the loss is above the
least one, and the names of the families that speak of landscapes (Hessian, census, escapes, the
octopus), imported on first use (`__init__.pyi`).
"""

from globalmin._exports import lazy

__getattr__, __dir__, __all__ = lazy(__file__, globals())  # pyright: ignore[reportUnsupportedDunderAll]
