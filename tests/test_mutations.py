"""Flip each sign in the formulas, one at a time, and see a test fail."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fedreg

PACKAGE = Path(fedreg.__file__).parent
FORMULAS = [
    "core/vector.py", "core/gradient.py", "methods/fedreg.py", "methods/fedprox.py", "methods/fedcurv.py",
    "methods/scaffold.py", "methods/pfedgp.py", "core/polya_gamma.py",
]  # fmt: skip
GUARDS = ["tests/core", "tests/methods", "tests/test_identities.py"]
FLIPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Gt: ast.Lt, ast.Lt: ast.Gt, ast.GtE: ast.LtE, ast.LtE: ast.GtE}


def signs(tree):
    """Every place with a sign: an operator or a comparison, or what goes into a relu or comes out of a sign()."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and type(node.op) in FLIPPED:
            yield node, "op", FLIPPED[type(node.op)]()
        if isinstance(node, ast.Compare):
            for i, op in enumerate(node.ops):
                if type(op) in FLIPPED:
                    yield node, "ops", [*node.ops[:i], FLIPPED[type(op)](), *node.ops[i + 1 :]]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "relu":
            yield node, "args", [ast.UnaryOp(ast.USub(), node.args[0])]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sign":
            yield node.func, "value", ast.UnaryOp(ast.USub(), node.func.value)


def mutants():
    """The file, where the sign is, and the file's text with it flipped."""
    for name in FORMULAS:
        text = (PACKAGE / name).read_text()
        for i, _ in enumerate(signs(ast.parse(text))):
            tree = ast.parse(text)
            node, field, other = list(signs(tree))[i]
            before = ast.unparse(node)
            setattr(node, field, other)
            yield pytest.param(
                name,
                ast.unparse(ast.fix_missing_locations(tree)),
                id=f"{name}:{node.lineno}: {before} -> {ast.unparse(node)}",
            )


def guarded(package):
    """What the tests of the formulas say of the package in this folder."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", *GUARDS]
    return subprocess.run(words, capture_output=True, text=True, env=environment, cwd=PACKAGE.parents[1], check=False)


def test_there_are_signs_to_flip():
    assert len(list(mutants())) >= 30


@pytest.mark.slow
def test_a_plain_copy_passes(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "fedreg")
    assert guarded(tmp_path / "fedreg").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(("name", "text"), list(mutants()))
def test_a_flipped_sign_is_noticed(tmp_path, name, text):
    shutil.copytree(PACKAGE, tmp_path / "fedreg")
    (tmp_path / "fedreg" / name).write_text(text)
    done = guarded(tmp_path / "fedreg")
    assert done.returncode == 1
    assert "failed" in done.stdout or "FedregError" in done.stdout  # or methods that can no longer be made
