"""Recovery of the weights of a teacher network (FCL, SJL-T2.5): moments, tensor start, local
geometry, descent.
"""
