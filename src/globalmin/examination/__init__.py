"""The verdict on a network that somebody trained: minimum, near one, saddle, trap, or not trained
far enough; what polishing reaches, and certificates of both.
"""
