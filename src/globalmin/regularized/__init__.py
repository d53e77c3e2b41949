r"""ReLU networks with weight decay and any convex loss: trained to the global minimum of the
penalized objective over every width, or as near as the dual bound proves.
"""
