"""Networks from elsewhere: read from PyTorch, ONNX, Keras, scikit-learn and Flax, believed by their
outputs, and written back.
"""

from globalmin._exports import lazy

__getattr__, __dir__, __all__ = lazy(__file__, globals())  # pyright: ignore[reportUnsupportedDunderAll]
