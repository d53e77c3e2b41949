r"""Networks with one hidden layer, $f(x) = v\cdot\phi(Wx)$: the network, its training, its Hessian
and the claims about it.
"""
