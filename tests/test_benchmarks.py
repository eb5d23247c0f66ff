"""The benchmarks measure what they say, on sizes that take no time."""

import os
from pathlib import Path

import numpy as np
import pytest
from benchmarks import __main__ as bench
from benchmarks import threads
from benchmarks.curves import slope
from benchmarks.measure import Cost, best_time, cost, extra_memory, times_copy
from benchmarks.paths import OPERATIONS, OURS, TARGETS, Inputs
from benchmarks.peers import PEERS, Peer
from benchmarks.streaming import growth
from benchmarks.table import Row, heading, line

DATA = Inputs(200, 5)


@pytest.fixture(autouse=True)
def threads_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFOCAL_NUM_THREADS", os.environ.get("INFOCAL_NUM_THREADS", "1"))


class TestMeasures:
    def test_memory_is_what_is_held_beyond_the_result(self) -> None:
        def call() -> np.ndarray:
            held = np.ones(20_000_000 // 8)
            return held[:1_000_000].copy()

        assert 15e6 < extra_memory(call) < 30e6

    def test_a_copy_costs_as_much_as_a_copy(self) -> None:
        matrix = np.zeros((1000, 1000))
        target = np.ones_like(matrix)
        assert 0.3 < times_copy(lambda: np.copyto(target, matrix), matrix, 0.1) < 3

    def test_slow_calls_are_made_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("benchmarks.measure.ENOUGH", 0.0)
        calls: list[int] = []
        assert cost(lambda: calls.append(1), np.zeros((10, 10)), 0.0).time > 0
        assert len(calls) == 1

    def test_runs_are_repeated(self) -> None:
        calls: list[int] = []
        best_time(lambda: calls.append(1), seconds=0.0, least=4)
        assert len(calls) == 4

    def test_slope_is_the_power_of_growth(self) -> None:
        assert slope((1, 10, 100), [5.0, 500.0, 50_000.0]) == pytest.approx(2.0)


class TestGrowth:
    def test_it_is_told_as_it_is(self) -> None:
        sizes = (10_000, 20_000, 50_000, 100_000)
        one, other = (growth(sizes, [fixed + 4e-6 * n for n in sizes]) for fixed in (0.0, 0.04))
        assert one[0] == "the total grows with n to the power of 1.000 (target: 1 within 0.05: met)"
        assert "MISSED" in other[0]
        assert other[1] == "it is 40.0 ms and 4.00 us for each sample; beyond the former the power is 1.000"


class TestThreads:
    def test_every_operation_stands_beside_the_copy(self) -> None:
        lines = list(threads.table(2, size=(200, 5)))
        assert [text[:22].strip() for text in lines[2:]] == ["np.copyto", *OURS]
        assert all(text.endswith("x") and float(text.split()[-1][:-1]) > 0 for text in lines[2:])
        assert max(map(len, "\n".join(lines).splitlines())) <= 100

    def test_calls_are_told_how_many_threads_to_use(self) -> None:
        told: list[int] = []
        threads.gain(told.append, 3)
        assert set(told) == {1, 3}


class TestOperations:
    def test_all_are_ours(self) -> None:
        assert set(OURS) == set(OPERATIONS)
        assert set(TARGETS) <= set(OPERATIONS)
        for peer in PEERS:
            assert set(peer.operations) <= set(OPERATIONS)
            assert set(peer.notes) <= set(peer.operations)

    @pytest.mark.parametrize("name", OPERATIONS)
    def test_ours_run(self, name: str) -> None:
        OURS[name](DATA)()

    @pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.package)
    def test_peers_are_told_present_or_absent(self, peer: Peer) -> None:
        assert peer.version is None or peer.version[0].isdigit()
        assert Peer("no-such-package", {}).version is None


class TestTable:
    def test_targets_are_marked(self) -> None:
        row = Row("evaluate", "infocal", "", Cost(7.25, 0.01), Cost(4.0, 0.02))
        assert line(row, 8.0).endswith("7.2        4.0     0.01   8 met")
        assert line(row, 7.0).endswith("7 MISSED")

    def test_what_failed_says_so(self) -> None:
        assert line(Row("", "peer", "failed: ValueError")).endswith("failed: ValueError")

    def test_it_fits_a_terminal(self) -> None:
        notes = [note for peer in PEERS for note in peer.notes.values()]
        row = Row("fit, classwise bins", "uncertainty-calibration", max(notes, key=len), Cost(99_999, 9.0))
        assert max(map(len, [line(row), *heading(DATA.logits, 16).splitlines()])) <= 100

    def test_one_run_prints_all_of_it(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("sys.argv", ["benchmarks", "--sizes", "200x5", "--seconds", "0", "--alone"])
        bench.main()
        printed = capsys.readouterr().out
        assert all(f"\n{name} " in printed for name in OPERATIONS)
        assert "200 x 5 float32" in printed

    def test_a_peer_that_fails_is_told_of(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def broken(data: Inputs) -> object:
            raise RuntimeError

        peers = (Peer("numpy", {"evaluate": broken}), Peer("no-such-package", {"evaluate": broken}))  # type: ignore[dict-item]
        monkeypatch.setattr(bench, "PEERS", peers)
        monkeypatch.setattr("sys.argv", ["benchmarks", "--sizes", "200x5", "--seconds", "0", "--only", "evaluate"])
        bench.main()
        printed = capsys.readouterr().out
        assert "failed: RuntimeError" in printed
        assert "no-such-package is absent: pip install infocal[bench]" in printed

    def test_what_would_take_too_long_or_too_much_is_left_out_and_told(self) -> None:
        matrix = np.empty((100_000, 10), dtype=np.float32)  # 4 MB
        assert bench.too_much(matrix, 10_000, Cost(9.0, 2.0, 0.5)) == ""
        assert bench.too_much(matrix, 10_000, Cost(9.0, 2.0, 12.0)) == "left out: about 120 s or more, by 10,000 rows"
        assert bench.too_much(matrix, 10_000, Cost(9.0, 1e4, 0.5)) == "left out: about 40 GB or more, by 10,000 rows"

    def test_a_peer_is_not_tried_on_more_rows_when_few_took_long(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(bench, "PATIENCE", 0.0)
        monkeypatch.setattr(bench, "PEERS", (Peer("numpy", {"evaluate": OURS["evaluate"]}),))
        command = ["benchmarks", "--sizes", "200x5", "300x5", "200x6", "--seconds", "0", "--only", "evaluate"]
        monkeypatch.setattr("sys.argv", command)
        bench.main()
        told = [text for text in capsys.readouterr().out.splitlines() if "numpy" in text][1:]
        assert ["left out: about" in text for text in told] == [False, True, False]

    def test_curves_are_drawn(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("matplotlib", reason="curves are drawn with matplotlib")
        from benchmarks import curves

        monkeypatch.setattr(curves, "AXES", {"samples n": (20, 40), "classes K": (3, 5), "bins M": (3, 5)})
        monkeypatch.setattr(curves, "N", 50)
        monkeypatch.setattr(curves, "K", 5)
        curves.draw_curves(tmp_path / "curves.svg", seconds=0.0)
        assert (tmp_path / "curves.svg").stat().st_size > 10_000
