"""Contests: the same job done by us and by what a user would pick instead, in one process, in
turns. `python -m bench` runs them; one file per job.
"""
