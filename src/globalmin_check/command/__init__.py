"""The command `globalmin-check`: arguments, limits, printing. It decides nothing."""
