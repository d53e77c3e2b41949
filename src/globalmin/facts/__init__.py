"""What theorems say of one instance: the instance, the findings, the shared hypotheses, and the one
table of facts by ID.

A family registers a function `(Instance) -> TheoremReport` per theorem; `inspect` and
`gm.theorem(ID, data)` ask the same function.
"""

from globalmin.facts.finding import Finding as Finding
from globalmin.facts.finding import Hypothesis as Hypothesis
from globalmin.facts.finding import TheoremReport as TheoremReport
from globalmin.facts.finding import fact as fact
from globalmin.facts.instance import Instance as Instance
