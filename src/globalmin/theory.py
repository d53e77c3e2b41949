"""What the theorems say of one instance: pure functions of arrays, in floats, hence estimates;
proofs are the checker's.

A namespace over the families, imported on first use; `theory.pyi` says where each name lives.
"""

from globalmin._exports import lazy

__getattr__, __dir__, __all__ = lazy(__file__, globals())  # pyright: ignore[reportUnsupportedDunderAll]
