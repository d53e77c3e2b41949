"""README and every page run from top to bottom as printed, and say what they promise.

Python blocks share their names, shell blocks run through the command line, files that a page
takes for granted are put into the folder first. What cannot run here (the network, a cluster,
hours) is marked in the page with `<!-- not run: reason -->` and has its reason in NOT_RUN.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.given_files import GIVEN
from tests.docs.page_blocks import PAGES, ROOT, blocks

# Not run as a whole: a list of signatures, and a table made by a script.
LISTS = {"architecture.md": "signatures, not a program", "theorems.md": "made by a script"}
ALONE = {"saddles.md"}  # "each example below runs as it is"
# Each block that no test runs, with its reason; the executors themselves have tests in tests/sweep,
# which run where Dask and Ray are installed.
NOT_RUN = {"sweeps.md": "needs Dask and Ray, which are not part of the test environment"}
PROGRAMS = {page: blocks(page) for page in PAGES if page.name not in LISTS and blocks(page)}

SAID = {
    "README.md": (
        "ACCEPTED",
        "DU-F7.3",
        "has the least held-out loss",
        "where 1e-06 was asked for",
    ),
    "choose.md": (
        "quadratic ACCEPTED",
        "ridge regression: ",
        "the quadratic network has the least held-out loss",
        "where 1e-06 was asked for",
    ),
    "quadratic.md": (
        "ACCEPTED",
        "(2, 8, 5)",
        "strict saddle",
        "ACCEPTED True",
        "No network of squares of any width has an objective more than",
        "first='column 0', second='column 1'",
    ),
    "relu-decay.md": (
        "ACCEPTED spectral",
        "True True",
        "No ReLU network of any width has an objective more than",
    ),
    "additive.md": (
        "ACCEPTED True",
        "No additive network of any width has an objective more than",
        "1e-06 was asked for",
        "0.582107",
    ),
    "bring-your-model.md": (
        "ACCEPTED",
        "global minimum",
        "not trained far enough",
        "its outputs differ by",
        "2 things that cannot be represented",
        "('softplus',) True",
        "weights are rounded",
    ),
    "tables.md": ("onnxruntime agrees: True",),
    "deep.md": ("ACCEPTED", "global minimum", "DeepNetwork 10"),
    "sjl.md": (
        "SJL-T2.1 its hypotheses hold here",
        "SJL-T2.1b a hypothesis fails here",
        "(SJL-T2.1q)",
        "class b",
        "σ_min(J) = 3.4 on 25 samples",
        "most is lost by: whitened",
    ),
    "streams.md": (
        "ACCEPTED 20000 3 True",
        "For all rows whose sums are those of the file",
        "All rows were read, and have the digests and the sums of the file.",
        "23000 ACCEPTED",
        "20500",
        "ACCEPTED 20000 True",
    ),
    "factorization.md": (
        "ACCEPTED The stored factors U (300 x 5)",
        "log10_steps_lower=1460",
        "(iv) ratio': True",
    ),
    "explain.md": (
        "phase one is over after so many steps",
        "silent: the step 0.1 is above 0.00868",
        "trap test: from step 0 on it goes to the global minimum",
        "covered for angles from",
        "+ OS-C1",
    ),
    "saddles.md": (
        "second-order stationary (estimate)",
        "strict saddle (estimate)",
        "(4, 4)",
        "trust-krylov: gradient and least eigenvalue",
        "Perturbation(step_size=",
        "A strict local minimum lies at most",
        "no other critical point within",
    ),
    "dynamics-balancedness.md": (
        "0-3: 4 blocks, largest |D| 1.14064, largest drift 0.00125\n3-5: 16 blocks",
    ),
    "convolution.md": ("spurious local minimum",),
    "patches.md": (
        "converged [[ 0.   0.6  0.  -0.8  0.   0. ]] [[ 1.  -0.5  0.2  0.8]]",
        "ACCEPTED True",
        "true side: loss at v minus loss at -v",
        "trap: loss at v minus loss at -v",
        "DU-T5.3x is empty",
    ),
    "du-ch2.md": ("DU-T2.1 its hypotheses hold here",),
    "du-ch3.md": ("ACCEPTED",),
    "du-ch4.md": ("log10_steps_lower=1460",),
    "du-ch5.md": ("spurious local minimum", "DU-T5.3x its hypotheses hold here"),
    "du-ch7.md": ("steps to pass all saddles ≥, ours",),
    "os.md": (
        "OS-C4 a hypothesis fails here -> its hypotheses hold here",
        "μ_φ = 0",
    ),
    "fcl.md": (
        "radius 0.01053, step 62.29, rate 0.986649 a step",
        "samples for 10 % expected error: 13,955 (estimate)",
        "7.1e+08 for convexity on the ball, 8.9e+11 for this error",
        "constant unknown\nfails\n",
        "softplus: reads orders 1, 2, 4",
    ),
}
# Run in the names of the page after its last block.
HOLDS = {
    "README.md": """
from pathlib import Path
assert found.error_against(W) < 1e-10 and found.radius > 0
assert model.gap_ / model.loss_upper_ < 1e-9
assert all(Path(name).exists() for name in ("fit.gmc", "factors.gmc", "fit/report.html"))
assert Path("zero/report.html").exists()
""",
    "quadratic.md": "import os; assert os.path.exists('quadratic.gmc')",
    "relu-decay.md": "assert model.relative_gap_ < 1e-3 and found.relative_gap < 0.2",
    "factorization.md": "import os; assert os.path.exists('factors.gmc')",
    "deep.md": """
assert model.score(new[:400], wanted[:400]) > 0.9
assert (scores.argmax(axis=1) == wanted[:400]).mean() > 0.9
first = 0.5 * np.square(start.predict(data.X) - data.y).sum()
assert abs(before.losses([0])[0] / first - 1) < 1e-9
""",
    "bring-your-model.md": """
assert found.verdict == "global minimum" and found.is_proved and found.gap < 1e-18
assert gm.check("examined/given.gmc").verdict == gm.check("theirs.gmc").verdict == "ACCEPTED"
""",
    "tutorial.md": "assert model.verdict_ == chosen.verdict_ == 'ACCEPTED' and chosen.optimal_",
    "choose.md": "assert model.optimal_ and model.relative_gap_ <= 1e-6",
    "recovery.md": """
assert found.error_against(W) < 1e-10 and .03 < found.radius < .06
assert abs(logistic.expected_error - .1) < .01 and logistic.warnings == ()
assert abs(biased.noise - .02) < .001 and biased.expected_error < .02
""",
    "fcl.md": "assert found.error_against(W) < 1e-10 and found.radius > .03",
    "inspect.md": """
assert found.recommended_width == 4 and 2e6 < found.explicit_width < 3e6
assert 1e10 < found.theorem("OS-T6.2").width < 2e10
assert found_there.theorem("OS-C1").finding == "holds"
assert found_there.theorem("OS-C4").failure < 1e-3
""",
    "os.md": """
assert 3.3e10 < report.width < 3.4e10 and 0.084 < report.step_size < 0.0841
assert 2.4e-5 < 1 - report.rate < 2.5e-5 and 0.40 < report.failure < 0.41
sgd = found.theorem("OS-T2.6")
assert 9.6e-7 < sgd.step_size < 9.8e-7 and 0.50 < sgd.failure < 0.51
kinked = gm.inspect(data, width=40, activation="relu")
assert [round(kinked.theorem(i).failure, 2) for i in ("OS-T6.3", "OS-T2.3", "OS-T2.5")] == [
    0.27, 0.19, 0.27]
assert 1.1e7 < found.theorem("OS-C6").width < 1.2e7 and 3.7e6 < found.theorem("OS-T3.2").width
assert width == 804 and run.rate_measured <= run.guarantee.rate and run.path[-1] <= 4.58
""",
    "octopus.md": "assert 4e6 < slow[-1] < 6e6 and 250 < fast[-1] < 500",
    "degenerate-data.md": "assert 0 < model.loss_lower_ <= model.loss_upper_",
    "dynamics-balancedness.md": """
assert np.abs(flow.drift).max() <= 1e-8
assert run.audit().identity_error <= 1e-13
assert sgd.audit().within_budget
np.testing.assert_allclose(watch.drift, watch.predicted, atol=1e-5)  # JAX in single precision
""",
}


def _run(page: Path, folder: Path, *options: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, ROOT / "tests/docs/run_page.py", page, *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        input=HOLDS.get(page.name, ""),
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.parametrize("page", PROGRAMS, ids=lambda page: page.stem)
def test_the_page_runs_from_top_to_bottom(page: Path, tmp_path: Path):
    code = "".join(block.text for block in PROGRAMS[page] if not block.reason)
    for name, make in GIVEN.items():
        if re.search(rf"(?<![/\w]){re.escape(name)}", code):
            make(tmp_path / name)
    for folder in ("examples", "scripts"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    done = _run(page, tmp_path, *(["--fresh"] if page.name in ALONE else []))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    for words in SAID.get(page.name, ()):
        assert words in done.stdout


@pytest.mark.parametrize(
    "text", ["```python\nassert 1 + 1 == 3\n```\n", "```\nglobalmin doctor --no-such-option\n```\n"]
)
def test_a_page_that_does_not_run_is_found(text: str, tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    assert _run(page, tmp_path).returncode != 0


def test_what_is_not_run_is_marked_and_counted():
    every = [(page.name, block) for page, found in PROGRAMS.items() for block in found]
    marked = [(name, block) for name, block in every if block.reason]
    for name, block in marked:
        print(f"not run: {name}, line {block.line}: {block.reason}")
    setup = sum(block.setup_lines for _, block in every)
    print(f"{len(marked)} of {len(every)} blocks are not run; {setup} lines make an environment")
    assert {name: block.reason for name, block in marked} == NOT_RUN
    assert len(marked) == len(NOT_RUN)
    assert {block.language for _, block in every} <= {"python", "", "toml"}


def test_every_picture_of_every_page_exists():
    for page in PAGES:
        for picture in re.findall(r"!\[[^]]*\]\(([^)]*)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / picture).exists(), f"{page.name}: {picture}"


def test_every_command_printed_in_a_page_exists_with_its_options():
    import typer.main

    from globalmin.cli.application import app

    lines = [
        (page.name, line)
        for page, found in PROGRAMS.items()
        for block in found
        for line in block.commands
        if block.language == "" and line.startswith("globalmin ")
    ]
    assert len(lines) > 15
    for page, line in lines:
        command, words = typer.main.get_command(app), line.split()[1:]
        while hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        known = {
            name
            for parameter in command.params
            for name in (*parameter.opts, *parameter.secondary_opts)
        }
        assert {word for word in words if word.startswith("--")} <= known, f"{page}: {line}"
