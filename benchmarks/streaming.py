"""`python -m benchmarks.streaming`: fit, apply and evaluate a file of 400 MB, and parts of it, without holding it.

Each size runs in a process of its own, which tells its processor time and the peak of its resident memory, pages of
files included.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import infocal
from infocal.files import write_blocks

from .curves import slope
from .paths import Inputs

ROWS, CLASSES = 100_000, 1000
SIZES = (ROWS // 10, ROWS // 5, ROWS // 2, ROWS)
MOST = 250e6  # bytes of resident memory
WITHIN = 0.05  # of 1: the power of the rows by which time grows
PART = 5000
FEW = 2500  # rows of the run before the one that counts: as many as are not read at once
REPEATS = 9  # of which the shortest counts


def main() -> None:
    """Print time and memory of each size, and how time grows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streaming", description=__doc__)
    parser.add_argument("--folder", type=Path, help="where to put 800 MB of files for a while")
    parser.add_argument("--threads", type=int, default=1, help="(default: 1)")
    parser.add_argument("--part", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        print(json.dumps(run(options.folder, options.part)))
        return
    os.environ["INFOCAL_NUM_THREADS"] = str(options.threads)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        report(Path(name))


def report(folder: Path) -> None:
    """The table."""
    write(folder)
    print(f"{'samples':>9}{'input':>9}{'fit':>9}{'apply':>9}{'evaluate':>10}{'total':>9}{'peak memory':>14}")
    totals, peak = [], 0
    for n in SIZES:
        found = [measured(folder, n) for _ in range(REPEATS)]
        parts = np.min([one["seconds"] for one in found], axis=0)
        peak = max(one["peak"] for one in found)
        totals.append(float(parts.sum()))
        size = f"{4 * n * CLASSES / 1e6:.0f} MB"
        fit, apply, evaluate = (f"{seconds:.3f} s" for seconds in parts)
        told = f"{n:>9,}{size:>9}{fit:>9}{apply:>9}{evaluate:>10}{totals[-1]:>7.3f} s{peak / 1e6:>11.0f} MB"
        print(told, flush=True)
    print("\n".join(growth(SIZES, totals)))
    print(f"the largest peaks {'below' if peak < MOST else 'ABOVE'} {MOST / 1e6:.0f} MB")


def growth(sizes: tuple[int, ...], totals: list[float]) -> list[str]:
    """How time grows with size: as it is, and beyond what it takes at any size."""
    power = slope(sizes, totals)
    rate, fixed = np.polyfit(sizes, totals, 1, w=1 / np.array(totals))
    mark = "met" if abs(power - 1) <= WITHIN else "MISSED"
    return [
        f"the total grows with n to the power of {power:.3f} (target: 1 within {WITHIN}: {mark})",
        f"it is {1e3 * fixed:.1f} ms and {1e6 * rate:.2f} us for each sample; beyond the former the power is"
        f" {slope(sizes, [total - fixed for total in totals]):.3f}",
    ]


def write(folder: Path) -> None:
    """Logits and labels, a part at a time."""
    data = Inputs(PART, CLASSES)
    parts = ROWS // PART
    write_blocks(folder / "logits.npy", (data.logits for _ in range(parts)), (ROWS, CLASSES), np.float32)
    np.save(folder / "labels.npy", np.tile(data.labels, parts))


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
    (folder / "probs.npy").unlink(missing_ok=True)  # to replace a file costs the more the larger it is
    clock = [time.process_time()]
    calibrator = infocal.fit("imax", logits, labels)
    clock.append(time.process_time())
    probs = calibrator(logits, out=folder / "probs.npy")
    clock.append(time.process_time())
    infocal.evaluate(probs, labels, ties=logits)
    clock.append(time.process_time())
    return np.diff(clock).tolist()


if __name__ == "__main__":
    main()
