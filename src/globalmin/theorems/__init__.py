"""The theorem door: every numbered item of the five works in plain words, and what it says of your
data.
"""

from globalmin.theorems.door import Theorem as Theorem
from globalmin.theorems.door import theorem as theorem
