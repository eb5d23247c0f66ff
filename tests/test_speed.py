"""Nothing here looks at a clock: instructions, allocations and imports tell of a loss of speed on any machine."""

import json
import platform
import re
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pytest

import infocal
from infocal import kernels
from infocal.arrays import Array, Floats, Ints

ROOT = Path(infocal.__file__).parent


def overconfident(n: int, n_classes: int, dtype: type = np.float32) -> tuple[Array, Ints]:
    rng = np.random.default_rng(0)
    labels = rng.integers(n_classes, size=n)
    logits = (3 * rng.standard_normal((n, n_classes))).astype(dtype)
    logits[np.arange(n), labels] += 12
    return logits, labels


# -- instructions --------------------------------------------------------------------------------------------------

# Instructions per logit, a third above what they were when last measured: with AVX2, and with none but the baseline
BUDGET = {
    "copy": (0.2, 0.2),
    "apply": (10.0, 40.0),
    "logodds": (100.0, 400.0),
    "softmax": (10.0, 40.0),
    "summarise": (100.0, 400.0),
    "tempered": (20.0, 80.0),
    "reliability": (20.0, 80.0),
}
COUNTED = """
import ctypes, json, mmap, sys
import numpy as np
import infocal
from infocal import kernels
from infocal.metrics.calibration import size_edges

# Valgrind acts on this sequence of instructions, which does nothing elsewhere: its manual, "The client request mechanism"
CODE = bytes.fromhex("4889f8 31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3")
page = mmap.mmap(-1, len(CODE), prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(CODE)
ask = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
ZERO, DUMP_AT, START, STOP = (0x43540000 + i for i in (1, 3, 4, 5))

def request(code, text=b""):
    note = ctypes.create_string_buffer(text)
    ask(ctypes.cast((ctypes.c_uint64 * 6)(code, ctypes.addressof(note)), ctypes.c_void_p))

rng, (n, K) = np.random.default_rng(0), (128, 1000)
labels = rng.integers(K, size=n)
logits = 3 * rng.standard_normal((n, K), dtype=np.float32)
logits[np.arange(n), labels] += 12
target, groups = np.zeros_like(logits), np.zeros(K, dtype=np.int64)
calibrator = infocal.fit("imax", logits, labels)
probs = calibrator(logits)
bins = kernels.ClassBins(size_edges(100)[None], np.full((3, K), 1 / K))
calls = {
    "nothing": lambda: None,
    "copy": lambda: np.copyto(target, logits),
    "apply": lambda: calibrator(logits),
    "logodds": lambda: kernels.logodds(logits),
    "softmax": lambda: kernels.softmax(logits, 0.7),
    "summarise": lambda: kernels.summarise(logits, labels, None, groups, 32.0, 256.0),
    "tempered": lambda: kernels.tempered(logits, labels, None, 0.7),
    "reliability": lambda: kernels.reliability(probs, labels, None, None, bins, pooled=True),
}
for name in sys.argv[1:]:
    kernels._native.use_instruction_set(name)
    for operation, call in calls.items():
        call()
        request(START)
        request(ZERO)
        call()
        request(DUMP_AT, f"{name} {operation}".encode())
        request(STOP)
"""


@pytest.fixture(scope="module")
def instructions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, float]]:
    """Instructions per logit of the loops, by instruction set."""
    if sys.platform != "linux" or platform.machine() != "x86_64" or not shutil.which("valgrind"):
        pytest.skip("counts instructions with valgrind on x86-64 Linux")
    if not {"avx2", "baseline"} <= set(kernels._native.instruction_sets()):
        pytest.skip("counts instructions of AVX2, which this machine does not have")
    folder = tmp_path_factory.mktemp("callgrind")
    tool = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder / 'out'}"]
    command = [*tool, sys.executable, "-c", COUNTED, "avx2", "baseline"]
    settings = {"INFOCAL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": ":".join(sys.path)}
    run = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    found: dict[str, dict[str, float]] = {"avx2": {}, "baseline": {}}
    for path in folder.iterdir():
        text = path.read_text()
        told = re.search(r"Client Request: (\w+) (\w+)", text)
        total = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
        if told and total:
            found[told[1]][told[2]] = int(total[1]) / 128_000
    return {level: {name: count - counts["nothing"] for name, count in counts.items()} for level, counts in found.items()}


@pytest.mark.parametrize("operation", BUDGET)
@pytest.mark.parametrize(("level", "place"), [("avx2", 0), ("baseline", 1)])
def test_instructions(level: str, place: int, operation: str, instructions: dict[str, dict[str, float]]) -> None:
    assert instructions[level][operation] < BUDGET[operation][place]
