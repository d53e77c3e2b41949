"""globalmin: train shallow neural networks to the global minimum, and prove it.

>>> import globalmin as gm
>>> data = gm.generators.sphere_with_random_labels(20, 6, seed=0)
>>> net = gm.ShallowNetwork.initialize(data, width=8, activation="softplus", seed=0)
>>> run = gm.train(net, data, method="levenberg_marquardt")
>>> cert = gm.certify(run.network, data)

Every public name is imported on first use, so that `import globalmin` costs next to nothing;
`__init__.pyi` lists them.
"""

from globalmin._exports import lazy

__version__ = "0.1.0"
__getattr__, __dir__, _names = lazy(__file__, globals())
__all__ = [*_names, "__version__"]  # pyright: ignore[reportUnsupportedDunderAll]
