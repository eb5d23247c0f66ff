from typing import Any

def logodds(logits: Any, out: Any) -> int: ...
def apply(logits: Any, edges: Any, bounds: Any, values: Any, group_of: Any, out: Any, past_caches: bool) -> int: ...
def row_facts(logits: Any, out: Any) -> int: ...
def columns(logits: Any, facts: Any, wanted: Any, out: Any) -> None: ...
def rank(probs: Any, ties: Any, out: Any) -> None: ...
def summarise(
    logits: Any,
    labels: Any,
    weights: Any | None,
    group_of: Any,
    reach: float,
    per_unit: float,
    points: Any,
    hits: Any,
    smaller: Any,
) -> int: ...
def softmax(logits: Any, inverse: float, out: Any, past_caches: bool) -> int: ...
def tempered(logits: Any, labels: Any, weights: Any | None, inverse: float, out: Any) -> int: ...
def reliability(
    probs: Any,
    labels: Any,
    weights: Any | None,
    ties: Any | None,
    edges: Any,
    thresholds: Any,
    home: Any,
    grain: float,
    facts: Any,
    rank: Any,
    excess: Any,
    mass: Any,
    hits: Any,
    kept: Any,
) -> int: ...
def tally(
    logits: Any,
    labels: Any,
    weights: Any | None,
    grain: float,
    group_of: Any,
    reach: float,
    per_unit: float,
    points: Any,
    hits: Any,
    offsets: Any,
) -> int: ...

QUANTA: int

def running(low: Any, high: Any, before: Any, after: Any) -> None: ...
def solve_edges(information: bool, low: Any, high: Any, first: Any, last: Any, cuts: Any) -> float: ...
def expect(posterior: Any, weights: Any, hits: Any, misses: Any) -> float: ...
def cut_points(logodds: Any, weights: Any, hits: Any, misses: Any, limit: float, cuts: Any) -> None: ...
def bin_questions(
    logodds: Any,
    weights: Any | None,
    starts: Any,
    told: Any,
    told_weights: Any | None,
    told_starts: Any,
    sides: Any,
    masses: Any,
    limits: Any,
) -> None: ...
def room_single(rows: int, columns: int) -> Any: ...
def room_double(rows: int, columns: int) -> Any: ...
def use_instruction_set(name: str) -> None: ...
def instruction_sets() -> list[str]: ...
def instruction_set() -> str: ...
