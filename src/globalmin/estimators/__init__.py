"""scikit-learn estimators: fit, prove, predict. No mathematics here, only the scikit-learn contract
around the other rooms; imported on first use (`__init__.pyi`), as scikit-learn is.
"""

from globalmin._exports import lazy

__getattr__, __dir__, __all__ = lazy(__file__, globals())  # pyright: ignore[reportUnsupportedDunderAll]
