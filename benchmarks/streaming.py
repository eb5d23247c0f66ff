"""`python -m benchmarks.streaming`: fit, apply and evaluate a file of 400 MB, and parts of it, without holding it.

Each size runs in a process of its own, which tells its processor time and the peak of its resident memory, pages of
files included.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import infocal

from .curves import slope
from .paths import Inputs

ROWS, CLASSES = 100_000, 1000
MOST = 250e6  # bytes of resident memory
PART = 5000
FEW = 100
REPEATS = 5  # of which the shortest counts


def main() -> None:
    """Print time and memory of each size, and how time grows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streaming", description=__doc__)
    parser.add_argument("--folder", type=Path, help="where to put 800 MB of files for a while")
    parser.add_argument("--part", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        print(json.dumps(run(options.folder, options.part)))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        report(Path(name))


def report(folder: Path) -> None:
    """The table."""
    write(folder)
    sizes = (ROWS // 8, ROWS // 4, ROWS // 2, ROWS)
    print(f"{'samples':>9}{'input':>9}{'fit':>9}{'apply':>9}{'evaluate':>10}{'peak memory':>14}")
    totals, peak = [], 0
    for n in sizes:
        found = [measured(folder, n) for _ in range(REPEATS)]
        fit, apply, evaluate = np.min([one["seconds"] for one in found], axis=0)
        peak = max(one["peak"] for one in found)
        totals.append(fit + apply + evaluate)
        size = f"{4 * n * CLASSES / 1e6:.0f} MB"
        print(f"{n:>9,}{size:>9}{fit:>7.3f} s{apply:>7.3f} s{evaluate:>8.3f} s{peak / 1e6:>11.0f} MB", flush=True)
    rate, fixed = np.polyfit(sizes, totals, 1, w=1 / np.array(totals))
    print(f"time is {fixed:.3f} s and {1e6 * rate:.2f} us for each sample")
    print(
        f"beyond the former it grows with n to the power of {slope(sizes, totals - fixed):.2f} (target: 1 within 0.05)"
    )
    print(f"the largest peaks {'below' if peak < MOST else 'ABOVE'} {MOST / 1e6:.0f} MB")


def write(folder: Path) -> None:
    """Logits and labels, a part at a time."""
    shape = (ROWS, CLASSES)
    logits = np.lib.format.open_memmap(folder / "logits.npy", mode="w+", dtype=np.float32, shape=shape)
    data = Inputs(PART, CLASSES)
    for start in range(0, ROWS, PART):
        logits[start : start + PART] = data.logits
    logits.flush()
    np.save(folder / "labels.npy", np.tile(data.labels, ROWS // PART))


def measured(folder: Path, n: int) -> dict:
    """What a new process tells of one size."""
    command = [sys.executable, "-m", "benchmarks.streaming", "--folder", str(folder), "--part", str(n)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def run(folder: Path, n: int) -> dict:
    """Seconds of processor time of fit, apply and evaluate, done before for a few samples, and peak memory."""
    logits, labels = np.load(folder / "logits.npy", mmap_mode="r"), np.load(folder / "labels.npy")
    once(folder, logits[:FEW], labels[:FEW])
    seconds = once(folder, logits[:n], labels[:n])
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return {"seconds": seconds, "peak": peak}


def once(folder: Path, logits: np.ndarray, labels: np.ndarray) -> list[float]:
    """Seconds of processor time of fit, apply to a file, and evaluate."""
    clock = [time.process_time()]
    calibrator = infocal.fit("imax", logits, labels)
    clock.append(time.process_time())
    probs = np.lib.format.open_memmap(folder / "probs.npy", mode="w+", dtype=np.float32, shape=logits.shape)
    calibrator(logits, out=probs)
    del probs
    clock.append(time.process_time())
    infocal.evaluate(np.load(folder / "probs.npy", mmap_mode="r"), labels, ties=logits)
    clock.append(time.process_time())
    return np.diff(clock).tolist()


if __name__ == "__main__":
    main()
