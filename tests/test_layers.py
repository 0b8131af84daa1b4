"""The folders are the layers: an import goes to an earlier one."""

import ast
import re
from pathlib import Path

import fedreg

HERE = Path(fedreg.__file__).parent
LAYERS = [
    "core",
    "methods",
    "engines",
    "federation",
    "datasets",
    "networks",
    "experiments",
    "runs",
    "studies",
    "report",
    "cli",
]
FILES = sorted(HERE.rglob("*.py"))


def imported(path):
    """The layers that a file imports from."""
    package = path.relative_to(HERE).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            absolute = [*package[: len(package) - node.level], *(node.module or "").split(".")]
            names = [alias.name for alias in node.names] if absolute == [""] else [next(filter(None, absolute))]
            yield from (name for name in names if name in LAYERS)


def test_imports_go_to_earlier_layers():
    for path in FILES:
        layer = path.relative_to(HERE).parts[0].removesuffix(".py")
        if layer in LAYERS:
            late = [name for name in imported(path) if LAYERS.index(name) > LAYERS.index(layer)]
            assert late == [], f"{path.relative_to(HERE)} imports {late}"


def test_the_test_sees_imports():
    assert "federation" in set(imported(HERE / "datasets" / "digits.py"))
    assert "core" in set(imported(HERE / "methods" / "fedreg.py"))


def test_core_and_methods_import_torch_alone():
    allowed = {"torch", "jaxtyping", "abc", "collections", "copy", "dataclasses", "hashlib", "math", "operator",
               "typing"}  # fmt: skip
    for path in [*(HERE / "core").glob("*.py"), *(HERE / "methods").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert {name.split(".")[0] for name in names} <= allowed, path


def test_core_and_methods_change_nothing_in_place():
    for path in [*(HERE / "core").glob("*.py"), *(HERE / "methods").glob("*.py")]:
        text = path.read_text()
        assert not re.search(r"\w\.[a-z]+_\(|\)\.data\b|inplace|super\(\)|hasattr|print\(", text), path
        for node in ast.walk(ast.parse(text)):
            assert not isinstance(node, ast.AugAssign) or path.name == "module.py", f"{path}:{node.lineno}"
            stored = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del)
            assert not stored, f"{path}:{node.lineno}"


def test_rooms_have_sizes():
    for path in FILES:
        assert len(path.read_text().splitlines()) <= 300, path
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno - node.lineno < 40, f"{path}: {node.name}"


def test_everything_says_what_it_is():
    for path in FILES:
        tree = ast.parse(path.read_text())
        assert ast.get_docstring(tree), path
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                assert ast.get_docstring(node), f"{path}: {node.name}"


def test_no_junk_rooms():
    for path in FILES:
        assert not set(path.relative_to(HERE).with_suffix("").parts) & {"utils", "helpers", "common", "manager"}
