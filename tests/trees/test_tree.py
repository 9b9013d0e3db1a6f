"""Tree: structure, equality, text, pickling, and depth without recursion."""

from __future__ import annotations

import copy
import pickle
import random

import pytest
from fresh_python import python
from hypothesis import given
from random_trees import chain, copied, doubled, mixed_trees, random_tree

from structnet.trees.tree import Tree

DEEP = 100_000
EXAMPLE = Tree("MAX", [Tree("2"), Tree("MIN", [Tree("4"), Tree("7")]), Tree("0")])


def nested(tree: Tree) -> tuple:
    """The tree as tuples, by recursion."""
    return (tree.label, tree.token, tuple(nested(child) for child in tree.children))


def preorder(tree: Tree) -> list[Tree]:
    return [tree] + [node for child in tree.children for node in preorder(child)]


def postorder(tree: Tree) -> list[Tree]:
    return [node for child in tree.children for node in postorder(child)] + [tree]


def bracketed(tree: Tree) -> str:
    text = str(tree.label) if tree.token is None else f"{tree.label}/{tree.token}"
    if not tree.children:
        return text
    return f"({text} {' '.join(bracketed(child) for child in tree.children)})"


def outline(tree: Tree) -> list[str]:
    """``pretty`` by recursion."""
    lines = [str(tree.label) if tree.token is None else f"{tree.label}/{tree.token}"]
    for child in tree.children:
        last = child is tree.children[-1]
        first, *rest = outline(child)
        lines += [("└─ " if last else "├─ ") + first]
        lines += [("   " if last else "│  ") + line for line in rest]
    return lines


def test_example():
    assert str(EXAMPLE) == "(MAX 2 (MIN 4 7) 0)"
    assert repr(EXAMPLE) == "<Tree (MAX 2 (MIN 4 7) 0)>"
    assert (EXAMPLE.size, EXAMPLE.height) == (6, 2)
    assert [leaf.label for leaf in EXAMPLE.leaves()] == ["2", "4", "7", "0"]
    assert (Tree("x").size, Tree("x").height, Tree("x").children) == (1, 0, ())


def test_children_are_a_tuple_and_taken_from_any_iterable():
    assert Tree("f", (Tree(x) for x in "ab")).children == (Tree("a"), Tree("b"))


def test_a_list_of_children_changed_later_changes_nothing():
    children = [Tree("a")]
    tree = Tree("f", children)
    children.append(Tree("b"))
    assert tree == Tree("f", [Tree("a")])


@given(mixed_trees)
def test_orders_size_and_height_agree_with_recursion(tree: Tree):
    assert list(map(id, tree.preorder())) == list(map(id, preorder(tree)))
    assert list(map(id, tree.postorder())) == list(map(id, postorder(tree)))
    assert tree.size == len(preorder(tree))
    assert tree.height == max((1 + child.height for child in tree.children), default=0)
    assert [leaf.label for leaf in tree.leaves()] == [
        node.label for node in preorder(tree) if not node.children
    ]


@given(mixed_trees)
def test_texts_agree_with_recursion(tree: Tree):
    assert str(tree) == bracketed(tree)
    # Equal siblings would fool the identity test in outline().
    assert copied(tree).pretty() == "\n".join(outline(copied(tree)))


@given(mixed_trees, mixed_trees)
def test_equal_exactly_if_labels_tokens_and_shape_are(first: Tree, second: Tree):
    assert (first == second) == (nested(first) == nested(second))
    assert (first != second) == (nested(first) != nested(second))
    if first == second:
        assert hash(first) == hash(second)


@given(mixed_trees)
def test_a_copy_node_by_node_is_equal(tree: Tree):
    again = copied(tree)
    assert again == tree
    assert hash(again) == hash(tree)
    assert len({tree, again}) == 1


@pytest.mark.parametrize(
    "other",
    [
        Tree("MIN", EXAMPLE.children),
        Tree("MAX", EXAMPLE.children[::-1]),
        Tree("MAX", EXAMPLE.children[:2]),
        Tree("MAX", EXAMPLE.children, token="2"),
        Tree("MAX"),
        "(MAX 2 (MIN 4 7) 0)",
        None,
    ],
)
def test_unequal(other: object):
    assert other != EXAMPLE


def test_equal_hashes_do_not_make_trees_equal():
    class Same(str):
        def __hash__(self) -> int:
            return 1

    assert Tree(Same("a"), [Tree("x")]) != Tree(Same("b"), [Tree("x")])


@given(mixed_trees)
def test_pickle_and_copy(tree: Tree):
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert copy.copy(tree) is tree
    assert copy.deepcopy([tree])[0] == tree


def test_a_pickle_is_equal_in_a_process_with_other_string_hashes(tmp_path):
    path = tmp_path / "tree.pickle"
    path.write_bytes(pickle.dumps(EXAMPLE))
    program = (
        "import pickle, sys; from structnet.trees.tree import Tree; "
        "tree = pickle.load(open(sys.argv[1], 'rb')); "
        "again = tree.fold(lambda node, below: Tree(node.label, below, node.token)); "
        "assert tree == again and hash(tree) == hash(again), 'hashes were pickled'"
    )
    done = python("-c", program, path)
    assert done.returncode == 0, done.stderr


def test_fold_is_recursion():
    def depth(node: Tree, below: list[int]) -> int:
        return 1 + max(below, default=0)

    assert EXAMPLE.fold(depth) == 3
    rebuilt = EXAMPLE.fold(lambda node, below: Tree(node.label, below, node.token))
    assert rebuilt == EXAMPLE


@pytest.mark.parametrize("name", ["label", "children", "token", "size", "other"])
def test_immutable(name: str):
    with pytest.raises(AttributeError, match=f"^a Tree is immutable; cannot set '{name}'$"):
        setattr(EXAMPLE, name, None)
    with pytest.raises(AttributeError, match=f"^a Tree is immutable; cannot delete '{name}'$"):
        delattr(EXAMPLE, name)


def test_wrong_children():
    message = "^a child of a Tree must be a Tree; node 'f' got str; structnet.parse.nested"
    with pytest.raises(TypeError, match=message):
        Tree("f", [Tree("a"), "b"])
    with pytest.raises(TypeError, match=message):
        Tree("f", "ab")


@pytest.mark.parametrize("arguments", [{"label": []}, {"label": "a", "token": []}])
def test_unhashable_labels(arguments: dict):
    with pytest.raises(TypeError, match="unhashable type: 'list'"):
        Tree(**arguments)


def test_any_hashable_label():
    tree = Tree(3, [Tree(("a", 1)), Tree(None)])
    assert str(tree) == "(3 ('a', 1) None)"
    assert copied(tree) == tree


def test_repr_of_a_large_tree_is_short():
    assert repr(chain(60, "f")) == "<Tree f with 60 nodes>"


# ---------------------------------------------------------------------------------- depth


@pytest.fixture(scope="module")
def deep() -> Tree:
    return chain(DEEP)


def test_deep_chain_is_a_tree_like_any_other(deep: Tree):
    assert (deep.size, deep.height) == (DEEP, DEEP - 1)
    again = copied(deep)
    assert again == deep
    assert hash(again) == hash(deep)
    assert again != Tree("A", [deep])
    assert sum(1 for _ in deep.leaves()) == 1
    assert deep.fold(lambda node, below: 1 + sum(below)) == DEEP


def test_deep_chain_prints(deep: Tree):
    text = str(deep)
    assert text.startswith("(A (B (A ") or text.startswith("(B (A (B ")
    assert text.endswith("x" + ")" * (DEEP - 1))
    assert len(repr(deep)) < 100
    lines = deep.pretty().split("\n")
    assert len(lines) == DEEP
    assert lines[-1] == f"[depth {DEEP - 1}] └─ x"


def test_deep_chain_pickles(deep: Tree):
    assert pickle.loads(pickle.dumps(deep)) == deep
    assert copy.deepcopy(deep) is deep


def test_deep_comb_prints_its_rails():
    tree = Tree("x")
    for _ in range(2000):
        tree = Tree("f", [tree, Tree("y")])
    lines = tree.pretty().split("\n")
    assert len(lines) == 4001
    assert lines[-1] == "└─ y"
    assert lines[3] == "│  │  ├─ f"


def test_shared_objects_are_compared_once():
    first, second = doubled(60), doubled(60)
    assert first.size == 2**61 - 1
    assert first == second
    assert hash(first) == hash(second)
    assert first != Tree("f", [second, second])
    assert len(repr(first)) < 100
    assert copy.deepcopy(first) is first


def test_pickle_keeps_shared_objects_shared():
    assert len(pickle.dumps(doubled(12))) < 5_000


def test_random_trees_differ():
    rng = random.Random(0)
    trees = [random_tree(rng) for _ in range(100)]
    assert len(set(trees)) == len({nested(tree) for tree in trees})


class Located(Tree):
    """A subclass with a field of its own."""

    line: int | None

    def __new__(cls, label, children=(), token=None, line=None):
        tree = super().__new__(cls, label, children, token)
        object.__setattr__(tree, "line", line)
        return tree


def test_pickle_keeps_what_a_subclass_adds():
    leaf = Located("x", line=2)
    tree = Tree("f", [Located("g", [leaf, Tree("y")], line=1), leaf])
    again = pickle.loads(pickle.dumps(tree))
    assert again == tree
    assert (again[0].line, again[0, 0].line, again[1].line) == (1, 2, 2)
    assert type(again[0, 1]) is Tree
