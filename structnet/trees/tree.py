"""The plain tree: what every parser returns and every Forest is built from.

Nothing here recurses, so a chain of 100,000 nodes is a tree like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from importlib import import_module
from typing import TypeVar

Value = TypeVar("Value")


class Tree:
    """An immutable, hashable, ordered tree.

    A *leaf* is a node without children; its label is what a model reads there (a digit, a word).
    The label of an inner node says what combines its children (an operator, a tag, a relation).
    A node that does both, as a word with a relation in a dependency tree does, carries the word as
    ``token``.

    Args:
        label: any hashable value, usually a string.
        children: the subtrees, in order.
        token: the input this node carries beside its label; None if it carries none.

    Raises:
        TypeError: a child is not a Tree, or the label or token is not hashable.

    Example:
        >>> tree = Tree("MAX", [Tree("2"), Tree("MIN", [Tree("4"), Tree("7")])])
        >>> print(tree)
        (MAX 2 (MIN 4 7))
        >>> tree.size, tree.height, [leaf.label for leaf in tree.leaves()]
        (5, 2, ['2', '4', '7'])
    """

    __slots__ = ("_hash", "children", "height", "label", "size", "token")

    label: Hashable
    children: tuple[Tree, ...]
    token: Hashable | None
    size: int  # nodes in this tree, itself included
    height: int  # edges on the longest way down to a leaf
    _hash: int

    def __init__(
        self, label: Hashable, children: Iterable[Tree] = (), token: Hashable | None = None
    ):
        children = tuple(children)
        size, height = 1, -1
        for child in children:
            if not isinstance(child, Tree):
                raise TypeError(
                    f"a child of a Tree must be a Tree; node {label!r} got {type(child).__name__}"
                )
            size += child.size
            if child.height > height:
                height = child.height
        assign = object.__setattr__
        assign(self, "label", label)
        assign(self, "children", children)
        assign(self, "token", token)
        assign(self, "size", size)
        assign(self, "height", height + 1)
        # The children's hashes are cached, so this never descends.
        assign(self, "_hash", hash((label, token, children)))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Tree is immutable; cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Tree is immutable; cannot delete {name!r}")

    @classmethod
    def from_postorder(cls, nodes: Iterable[tuple[Hashable, int, Hashable | None]]) -> Tree:
        """The tree of ``(label, number of children, token)``, children before parents.

        Raises:
            ValueError: a node has fewer children before it than it says, or nodes are left over.

        Example:
            >>> Tree.from_postorder([("2", 0, None), ("4", 0, None), ("MAX", 2, None)])
            <Tree (MAX 2 4)>
        """
        done: list[Tree] = []
        for label, arity, token in nodes:
            first = len(done) - arity
            if first < 0:
                raise ValueError(f"node {label!r} has {arity} children; {len(done)} come before it")
            done[first:] = [cls(label, done[first:], token)]
        if len(done) != 1:
            raise ValueError(f"a postorder ends with one root; this one leaves {len(done)}")
        return done[0]

    def preorder(self) -> Iterator[Tree]:
        """Every node, parents before children, children in order."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def postorder(self) -> Iterator[Tree]:
        """Every node, children before parents, children in order."""
        reversed_order = []
        stack = [self]
        while stack:
            node = stack.pop()
            reversed_order.append(node)
            stack.extend(node.children)
        return reversed(reversed_order)

    def leaves(self) -> Iterator[Tree]:
        """The nodes without children, from left to right."""
        return (node for node in self.preorder() if not node.children)

    def fold(self, function: Callable[[Tree, list[Value]], Value]) -> Value:
        """``function(node, results of its children)`` from the leaves up; the result at the root.

        Example:
            >>> tree = Tree("+", [Tree("1"), Tree("+", [Tree("2"), Tree("3")])])
            >>> tree.fold(lambda node, values: sum(values) if values else int(node.label))
            6
        """
        results: list[Value] = []
        for node in self.postorder():
            first = len(results) - len(node.children)
            results[first:] = [function(node, results[first:])]
        return results[0]

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        pairs = [(self, other)]
        seen = set()  # pairs of shared subtrees are compared once
        while pairs:
            a, b = pairs.pop()
            if a is b or (id(a), id(b)) in seen:
                continue
            if (
                a._hash != b._hash
                or a.size != b.size
                or a.label != b.label
                or a.token != b.token
                or len(a.children) != len(b.children)
            ):
                return False
            seen.add((id(a), id(b)))
            pairs.extend(zip(a.children, b.children, strict=True))
        return True

    def _text(self) -> str:
        return str(self.label) if self.token is None else f"{self.label}/{self.token}"

    def __str__(self) -> str:
        """The tree in brackets, ``(label child child)``; a token follows its label, after "/"."""
        parts: list[str] = []
        stack: list[Tree | None] = [self]
        while stack:
            node = stack.pop()
            if node is None:
                parts[-1] += ")"
                continue
            parts.append("(" * bool(node.children) + node._text())
            if node.children:
                stack += [None, *reversed(node.children)]
        return " ".join(parts)

    def __repr__(self) -> str:
        text = str(self) if self.size <= 50 else f"{self.label} with {self.size} nodes"
        return f"<Tree {text}>"

    def pretty(self) -> str:
        """One node a line, indented by depth, the way a file browser draws folders.

        Example:
            >>> print(Tree("MAX", [Tree("2"), Tree("MIN", [Tree("4")])]).pretty())
            MAX
            ├─ 2
            └─ MIN
               └─ 4
        """
        lines = []
        stack = [(self, 0, "")]
        open_columns: list[bool] = []  # per depth: does a sibling still follow below?
        while stack:
            node, depth, branch = stack.pop()
            # A rail costs three characters a level; past 40 levels the depth is printed instead.
            indent = f"[depth {depth}] "
            if depth <= 40:
                rails = open_columns[: max(depth - 1, 0)]
                indent = "".join("│  " if rail else "   " for rail in rails)
            lines.append(indent + branch + node._text())
            if depth:
                open_columns[depth - 1 :] = [branch == "├─ "]
            for place, child in reversed(list(enumerate(node.children, 1))):
                stack.append((child, depth + 1, "├─ " if place < len(node.children) else "└─ "))
        return "\n".join(lines)

    def __reduce__(self) -> tuple:
        # pickle descends by recursion; a flat list, each object once, does not need it to.
        number: dict[int, int] = {}
        flat: list[tuple[Hashable, list[int], Hashable | None]] = []
        stack = [self]
        while stack:
            node = stack[-1]
            missing = [child for child in node.children if id(child) not in number]
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            if id(node) not in number:
                number[id(node)] = len(flat)
                flat.append((node.label, [number[id(c)] for c in node.children], node.token))
        return (_unpickled, (flat,))

    def __copy__(self) -> Tree:
        return self

    def __deepcopy__(self, memo: dict) -> Tree:
        return self

    def _repr_svg_(self) -> str:
        """The picture that a notebook shows; of a large tree, its top."""
        # By name: trees know of no pictures, but a notebook asks the tree for one.
        return import_module("structnet.plot.svg").tree_svg(self)


def _unpickled(flat: list[tuple[Hashable, list[int], Hashable | None]]) -> Tree:
    trees: list[Tree] = []
    for label, children, token in flat:
        trees.append(Tree(label, [trees[i] for i in children], token))
    return trees[-1]
