"""Neural Tangents in an environment and a process of its own (it needs an old jax): started once,
asked for kernels line by line; it measures its own CPU seconds, after compilation.

This file is also what runs there (`python tangents_peer.py FOLDER`), so the top imports nothing
but numpy and the standard library.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

SCRIPT = Path(__file__).parents[2] / "scripts" / "neural_tangents.sh"
ANSWER = "answer:"  # other lines are jax talking


class Peer:
    """The process, for one table of rows of norm 1; kernels "gram" (hidden weights of one layer)
    and "ntk" (all layers, weights of variance 2/width).
    """

    def __init__(self, X: np.ndarray) -> None:
        self.folder = tempfile.TemporaryDirectory()
        np.save(Path(self.folder.name) / "X.npy", X)
        self._process: subprocess.Popen[str] | None = None

    def kernel(self, name: str, depth: int) -> tuple[np.ndarray, float]:
        """The matrix and the CPU seconds; ImportError where the environment cannot be made."""
        process = self._process or self._started()
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the process has no pipes")
        process.stdin.write(json.dumps({"kernel": name, "depth": depth}) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            if line.startswith(ANSWER):
                seconds = float(line.removeprefix(ANSWER))
                return np.load(Path(self.folder.name) / "K.npy"), seconds
        raise RuntimeError(f"Neural Tangents ended with code {process.wait()}")

    def _started(self) -> subprocess.Popen[str]:
        python = os.environ.get("NEURAL_TANGENTS_PYTHON")
        if python is None:
            made = subprocess.run([SCRIPT], capture_output=True, text=True, check=False)
            if made.returncode:
                raise ImportError(made.stderr, name="neural_tangents")
            python = made.stdout.strip()
        self._process = subprocess.Popen(
            [python, "-P", __file__, self.folder.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self._process

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None
        self.folder.cleanup()


def compiled_kernel(name: str, depth: int) -> Any:
    """Runs there: the function of the rows."""
    import jax  # pyright: ignore[reportMissingImports]

    jax.config.update("jax_enable_x64", True)
    from neural_tangents import stax  # pyright: ignore[reportMissingImports]

    scale = 1.0 if name == "gram" else 2.0**0.5
    layers = [part for _ in range(depth) for part in (stax.Relu(), stax.Dense(1, W_std=scale))]
    kernel = stax.serial(stax.Dense(1), *layers)[2]
    if name == "gram":  # the head's part of the tangent kernel is the nngp

        def hidden(x: Any) -> Any:
            found = kernel(x, None, ("nngp", "ntk"))
            return found.ntk - found.nngp

        return jax.jit(hidden)
    return jax.jit(lambda x: kernel(x, None, "ntk"))


def serve(folder: Path) -> None:
    """Runs there: answer until the pipe closes."""
    import jax  # pyright: ignore[reportMissingImports]

    X = np.load(folder / "X.npy")
    X *= np.sqrt(X.shape[1])  # their first layer divides by the number of inputs
    known: dict[tuple[str, int], Any] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        key = asked["kernel"], asked["depth"]
        if key not in known:
            known[key] = compiled_kernel(*key)
            jax.block_until_ready(known[key](X))
        began = time.process_time()
        found = jax.block_until_ready(known[key](X))
        seconds = time.process_time() - began
        np.save(folder / "K.npy", np.asarray(found))
        print(f"{ANSWER}{seconds}", flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
