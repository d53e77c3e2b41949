"""The mutation gate: change one constant, sign, exponent or comparison of a module at a time and
see whether a test dies.
"""
