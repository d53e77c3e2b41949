"""The self-test of an installation: files of several claims made, checked, spoiled and forged, a
sweep killed and resumed.
"""
