"""The house keeps its rules: layers, short bodies, few arguments, nothing printed, no door opened on import."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import infocal

ROOT = Path(infocal.__file__).parent
LAYERS = (
    {"arrays", "numerics", "records", "mapped", "density", "logistic", "kernels"},
    {"problems"},
    {"binning", "scaling", "onevsrest"},
    {"metrics", "information", "simulate"},
    {
        *("files", "persist", "datasets", "summary", "calibrator", "chain", "fitting", "choosing", "recipes"),
        *("tally", "report", "comparison"),
    },
    {"sklearn", "plots", "html", "cli", "torch", "paper"},
)
OPTIONAL = {"sklearn", "matplotlib", "torch", "pandas", "polars", "pyarrow", "rich", "jinja2"}
FILES = sorted(path for path in ROOT.rglob("*.py") if path.name != "__init__.py" or path.parent != ROOT)


def room(path: Path) -> str:
    """The layer's name for a file: its folder, or itself."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def layer(name: str) -> int:
    return next(i for i, names in enumerate(LAYERS) if name in names)


def imports(path: Path) -> list[tuple[str, str]]:
    """(room, file) of every module of the package that a file imports."""
    package = path.relative_to(ROOT).parent.parts
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - (node.level - 1)]
            names = [node.module] if node.module else [alias.name for alias in node.names]
            names = [name for name in names if name != "__version__"]
            found += [(*base, *name.split("."))[:2] for name in names]
    return [(parts[0], parts[-1]) for parts in found]


def functions(path: Path) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    here = room(path)
    if here == "__main__":
        return
    for target, _ in imports(path):
        if target == here:
            continue
        assert layer(target) <= layer(here), f"{here} imports {target} from a higher layer"
        assert not (layer(here) == 5 == layer(target) and here != "cli"), f"door {here} opens door {target}"
        assert {here, target} != {"binning", "scaling"}, "binning and scaling meet in recipes"


def test_no_cycles() -> None:
    graph = {room(path): set() for path in FILES}
    for path in FILES:
        graph[room(path)] |= {target for target, _ in imports(path)} - {room(path)}
    while graph:
        leaves = {name for name, targets in graph.items() if not targets & graph.keys()}
        assert leaves, f"these rooms import each other: {graph}"
        graph = {name: targets for name, targets in graph.items() if name not in leaves}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_bodies_are_short(path: Path) -> None:
    for function in functions(path):
        body = function.body[1:] if ast.get_docstring(function) else function.body
        lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
        assert lines <= 40, f"{function.name} has {lines} lines"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_arguments_are_few(path: Path) -> None:
    for function in functions(path):
        # the contract fixes the signatures of the public verbs
        if function.name.startswith("_") or function.name in {*infocal.__all__, "ece", "reliability", "__init__"}:
            continue
        count = len(function.args.args) + len(function.args.kwonlyargs)
        assert count <= 7, f"{function.name} takes {count} arguments"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_core_is_silent(path: Path) -> None:
    if room(path) == "__main__" or layer(room(path)) > 3:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            assert name not in {"print", "open", "warnings.warn", "np.random.seed"}, f"{name} in a silent layer"


def test_import_opens_no_door() -> None:
    code = f"import sys, infocal; print([m for m in {sorted(OPTIONAL)} if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
