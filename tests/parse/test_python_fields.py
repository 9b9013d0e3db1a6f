"""Different programs are different trees: what could be in several fields is below their names."""

import ast
import copy
import itertools
from pathlib import Path

import pytest

from structnet import parse

PAIRS = [
    ("if a:\n b\n c", "if a:\n b\nelse:\n c"),
    ("for x in y:\n a\n b", "for x in y:\n a\nelse:\n b"),
    ("while x:\n a\n b", "while x:\n a\nelse:\n b"),
    ("try:\n a\nexcept E:\n b\nelse:\n c", "try:\n a\nexcept E:\n b\nfinally:\n c"),
    ("x[1:]", "x[:1]"),
    ("x[::2]", "x[2:]"),
    ("x[1:2]", "x[1::2]"),
    ("def f(*a): pass", "def f(a): pass"),
    ("def f(*a): pass", "def f(**a): pass"),
    ("def f(a, *, b): pass", "def f(a, b): pass"),
    ("def f(a, /, b): pass", "def f(a, b): pass"),
    ("def f(*, a, b=1): pass", "def f(*, a=1, b): pass"),
    ("def f(a=1, *, b): pass", "def f(a, *, b=1): pass"),
    ("def f() -> d: pass", "@d\ndef f(): pass"),
    ("lambda x: x", "lambda *x: x"),
    ("{a: b}", "{**a, **b}"),
    ("{**a, b: c}", "{a: c, **b}"),
    ("yield", "yield None"),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_different_programs_are_different_trees(one, other):
    assert parse.python(one) != parse.python(other)


def test_only_what_is_ambiguous_is_named():
    def told(source):
        return str(parse.python(source, contexts=False).children[0])

    assert told("x if y else z") == "(Expr (IfExp (Name y) (Name x) (Name z)))"
    assert told("if a:\n b\nelse:\n c") == (
        "(If (Name a) (Expr (Name b)) (orelse (Expr (Name c))))"
    )
    assert told("def f(a, *b, c=1, d, **e) -> int: pass") == (
        "(FunctionDef f (arguments (arg a) (vararg (arg b)) (kwonlyargs (arg c) (arg d)) "
        "(kw_defaults (Constant 1) None) (kwarg (arg e))) Pass (returns (Name int)))"
    )
    assert told("{**a}") == "(Expr (Dict None (Name a)))"


def _moved(node):
    """The same node with one value in another of its fields, in the order of the children."""
    for a, b in itertools.permutations(node._fields, 2):
        given, taken = getattr(node, a, None), getattr(node, b, None)
        # Only of keywords does the compiler not check what they are.
        if not given or isinstance(given, (str, int)) or b == "keywords":
            continue
        if not (taken is None or isinstance(taken, list)):
            continue
        for end in (0, -1) if isinstance(given, list) else (None,):
            other = copy.copy(node)
            item, rest = (given, None) if end is None else (given[end], list(given))
            if end is not None:
                del rest[end]
            before, after = ([], taken) if end != 0 else (taken, [])
            setattr(other, a, rest)
            setattr(other, b, item if taken is None else [*before, item, *after])
            yield other


def _is_valid(node):
    if isinstance(node, ast.arguments):
        return _is_valid(ast.Lambda(node, ast.Constant(1)))
    whole = {ast.stmt: lambda: ast.Module([node], []), ast.expr: lambda: ast.Expression(node)}
    for kind, made in whole.items():
        if isinstance(node, kind):
            try:
                found = ast.fix_missing_locations(copy.deepcopy(made()))
                compile(found, "", "exec" if kind is ast.stmt else "eval")
            except (TypeError, ValueError):
                return False
            except SyntaxError:  # such as a return outside a function, which is no matter of fields
                return True
            return True
    return False


MANY = "\n".join(itertools.chain.from_iterable(PAIRS))
SOURCES = [MANY, Path(parse.__file__).with_name("python_source.py").read_text("utf-8")]


def test_no_value_can_be_taken_for_that_of_another_field():
    tried = 0
    for node in itertools.chain.from_iterable(ast.walk(ast.parse(source)) for source in SOURCES):
        own = parse.python(node)
        for other in _moved(node):
            same = parse.python(other) == own and ast.dump(other) != ast.dump(node)
            assert not (same and _is_valid(other)), ast.dump(node)
            tried += 1
    assert tried > 1000
