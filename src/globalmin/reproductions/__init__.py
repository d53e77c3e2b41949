"""Every figure and table of the five works, one function each, at two scales; its numbers beside
the published ones.

>>> import globalmin as gm
>>> found = gm.reproduce("FCL-F2", scale="thumbnail")  # doctest: +SKIP
>>> print(found)  # doctest: +SKIP

Contract of this room
---------------------
One file a paper or chapter (`os.py`, `sjl.py`, `fcl.py`, ...), listed in `registry.HOMES`; one
function a figure or table:

    @states("OS-E.fig2a")
    @reproduction("OS-E.fig2a", title="Share of runs that fit, n = 100, softplus and ReLU")
    def fig2a(setting: Setting) -> Reproduction:
        size = setting.pick(thumbnail=Size(cells=6, trials=2), paper=Size(cells=25, trials=10))
        results = setting.trials(one_cell, [{"k": k, "d": d, "seed": setting.seed} for k in ... for
        d in ...]) return Reproduction(
            item="OS-E.fig2a", scale=setting.scale, table=(Row("least k at d = 5 with half of the
            runs fitted", 20, ours, tolerance=3, where="read off the picture", error="half a cell of
            theirs and of ours"),), data={"k": ...,
            "d": ..., "share": ...},                     # columns of equal length, saved as one CSV
            file figures={"": lambda: phase_figures.phase_diagram(...)},      # name -> function of
            `globalmin.report` called late choices=("The paper gives no step size; ours is ... .",),
        )

- The ID is the catalogue's (`catalogue.toml`); items that no paper has (the certified phase
  diagram) begin with `GM-`.
- `setting.scale` is "thumbnail" (about 20 CPU seconds at most) or "paper" (the published sizes);
  `setting.pick` chooses.
- Everything that takes long is a trial: `setting.trials(recipe, points)` runs the module-level
  function `recipe(**point)` for every point (a dict of JSON scalars, the seed among them) through
  the sweep engine; results come in the order of the points. A result is a flat dict of numbers,
  strings, booleans or float arrays, with no name of a parameter among them. So trials resume, run
  in parallel and take `--executor`; thousands of tiny ones become one task through `recipe.batch`
  (see `globalmin.sweep`). A trial that raises is kept with its traceback and raises `TrialFailed`
  here once the others are done.
- A row of the table compares one number: `published` is what the paper prints and nothing else,
  with `where`; `reference` is ours (an earlier run, a closed form) with its `source`. `tolerance`
  is the largest |difference| that still counts as agreement, `error` says from which errors of both
  sides it comes, and `relation` "=", "<=" or ">=" how the two are compared. `catches` names an
  alternative (a wrong step, another rule) with its value: a row that would let it pass, or that has
  no tolerance, is "not judged".
- Figures are drawn from arrays by the `figures` of a family or by functions of `globalmin.report`;
  nothing is trained when they are called.
- `choices` says, as sentences, what was chosen where the paper is silent or wrong.
- No heavy import at module level: `globalmin reproduce list` imports these files.
"""

from globalmin.reproductions.registry import Reproduction, Row, entries, entry, reproduction
from globalmin.reproductions.running import Setting, reproduce

__all__ = ["Reproduction", "Row", "Setting", "entries", "entry", "reproduce", "reproduction"]
