"""Nothing here looks at a clock: instructions, allocations and imports tell of a loss of speed on any machine."""

import platform
import re
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import infocal
from infocal import kernels
from infocal.arrays import Array, Ints

ROOT = Path(infocal.__file__).parent


def overconfident(n: int, n_classes: int, dtype: type = np.float32) -> tuple[Array, Ints]:
    rng = np.random.default_rng(0)
    labels = rng.integers(n_classes, size=n)
    logits = (3 * rng.standard_normal((n, n_classes))).astype(dtype)
    logits[np.arange(n), labels] += 12
    return logits, labels


# -- instructions --------------------------------------------------------------------------------------------------

# Instructions per logit, a third above what they were when last measured, with AVX2 and without
BUDGET = {
    "apply": (13.0, 32.0),
    "apply_classwise": (19.5, 75.0),
    "logodds": (45.0, 102.0),
    "softmax": (7.0, 16.5),
    "summarise": (53.5, 70.5),
    "tempered": (17.5, 30.5),
    "reliability": (50.0, 107.0),
}
COUNTED = """
import ctypes, json, mmap, sys
import numpy as np
import infocal
from infocal import kernels
from infocal.metrics.calibration import size_edges

# Valgrind acts on these instructions, which do nothing elsewhere: its manual, "The client request mechanism"
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
groups = np.zeros(K, dtype=np.int64)
calibrator = infocal.fit("imax", logits, labels)
classwise = infocal.fit("imax", logits, labels, groups="classwise")
probs = calibrator(logits)
bins = kernels.ClassBins(size_edges(100)[None], np.full((3, K), 1 / K))
calls = {
    "nothing": lambda: None,
    "apply": lambda: calibrator(logits),
    "apply_classwise": lambda: classwise(logits),
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
    return {
        level: {name: count - counts["nothing"] for name, count in counts.items()} for level, counts in found.items()
    }


@pytest.mark.parametrize("operation", BUDGET)
@pytest.mark.parametrize(("level", "place"), [("avx2", 0), ("baseline", 1)])
def test_instructions(level: str, place: int, operation: str, instructions: dict[str, dict[str, float]]) -> None:
    assert instructions[level][operation] < BUDGET[operation][place]


# -- memory --------------------------------------------------------------------------------------------------------


class Held(NamedTuple):
    """What the operations work on."""

    logits: Array
    labels: Ints
    probs: Array
    shared: infocal.Calibrator
    classwise: infocal.Calibrator
    temperature: infocal.Calibrator


@pytest.fixture(scope="module")
def held() -> Held:
    logits, labels = overconfident(10_000, 1000)
    wanted = (("imax", "shared"), ("imax", "classwise"), ("temperature", "shared"))
    fits = [infocal.fit(recipe, logits[:1000], labels[:1000], groups=groups) for recipe, groups in wanted]
    return Held(logits, labels, fits[0](logits), *fits)


HOLDS: dict[str, Callable[[Held], object]] = {
    "apply, shared": lambda held: held.shared(held.logits),
    "apply, classwise": lambda held: held.classwise(held.logits),
    "apply, temperature": lambda held: held.temperature(held.logits),
    "rank": lambda held: held.shared.rank(held.logits),
    "fit, shared": lambda held: infocal.fit("imax", held.logits, held.labels),
    "fit, prior": lambda held: infocal.fit("imax", held.logits, held.labels, groups="prior"),
    "fit, temperature": lambda held: infocal.fit("temperature", held.logits, held.labels),
    "evaluate": lambda held: infocal.evaluate(held.probs, held.labels),
    "evaluate with ties": lambda held: infocal.evaluate(held.probs, held.labels, ties=held.logits),
}


@pytest.mark.parametrize("operation", HOLDS)
def test_next_to_nothing_is_held_beside_input_and_result(
    operation: str, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFOCAL_NUM_THREADS", "1")
    HOLDS[operation](held)
    tracemalloc.start()
    result = HOLDS[operation](held)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    share = 0.11 if operation == "rank" else 0.05  # ranks are found from blocks of probabilities
    assert peak - getattr(result, "nbytes", 0) < share * held.logits.nbytes


# -- cold start ----------------------------------------------------------------------------------------------------


def modules_after(code: str) -> set[str]:
    """Modules that are there after running this in a new process."""
    run = [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"]
    return set(subprocess.run(run, capture_output=True, text=True, check=True).stderr.split())


def test_import_is_next_to_free() -> None:
    added = modules_after("import infocal") - modules_after("import typing, importlib")
    assert {name for name in added if name.startswith("infocal")} == {"infocal"}
    assert "numpy" not in added
    assert len(added) < 10


def test_apply_loads_nothing_that_is_slow(tmp_path: Path) -> None:
    logits, labels = overconfident(50, 4)
    infocal.fit("imax", logits, labels).save(tmp_path / "cal.json")
    np.savez(tmp_path / "data.npz", logits=logits)
    files = [str(tmp_path / "cal.json"), str(tmp_path / "data.npz"), "-o", str(tmp_path / "out.npz")]
    loaded = modules_after(f"from infocal.cli import main\nassert main({['apply', *files]}) == 0")
    assert "numpy" in loaded
    assert not {"scipy", "rich", "pandas", "matplotlib", "sklearn", "torch", "pyarrow", "jinja2"} & loaded


@pytest.mark.parametrize("recipe", ["imax", "temperature", "eqmass", "bws", "ets"])
def test_fit_and_evaluate_load_no_scipy(recipe: str) -> None:
    code = f"""
import numpy as np, infocal
labels = np.arange(100) % 3
logits = np.eye(3)[labels] + np.sin(np.arange(300.0)).reshape(100, 3)
infocal.evaluate(infocal.fit({recipe!r}, logits, labels)(logits), labels)"""
    assert "scipy" not in modules_after(code)


def test_installed_size() -> None:
    shipped = [path for path in ROOT.rglob("*") if path.is_file() and path.suffix not in {".cpp", ".hpp", ".pyc"}]
    listed = [
        Path(str(file.locate())).resolve() for file in distribution("infocal").files or () if file.suffix != ".pyc"
    ]
    size = sum(path.stat().st_size for path in {*shipped, *listed} if path.is_file())
    assert any(path.name.startswith("_native.") and path.suffix in {".so", ".pyd"} for path in {*shipped, *listed})
    assert size < 8e6
