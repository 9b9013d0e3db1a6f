"""The plain tree: what every parser returns and every Forest is built from.

Nothing here recurses, so a chain of 100,000 nodes is a tree like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from importlib import import_module
from operator import index
from types import MappingProxyType
from typing import TypeVar

from structnet.trees.notation import outlined, postorder_of, written

Value = TypeVar("Value")


class _Unsealed:
    """A tree while it is being built, whose fields may still be set."""

    __slots__ = ("_hash", "children", "height", "label", "size", "token")

    label: Hashable
    children: tuple[Tree, ...]
    token: Hashable | None
    size: int  # nodes in this tree, itself included
    height: int  # edges on the longest way down to a leaf
    _hash: int


class Tree(_Unsealed):
    """An immutable, hashable, ordered tree.

    A *leaf* is a node without children; its label is the input of a model there (a digit, a word).
    The label of an inner node says how its children are combined (an operator, a tag, a relation).
    A node that has both, such as a word with a relation in a dependency tree, carries the word as
    its ``token``.

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
        >>> tree[0], tree[1, -1]
        (<Tree 2>, <Tree 7>)
    """

    __slots__ = ()

    def __new__(
        cls, label: Hashable, children: Iterable[Tree] = (), token: Hashable | None = None
    ) -> Tree:
        tree = _Unsealed()
        tree.label = label
        tree.children = children = tuple(children)
        tree.token = token
        size = 1
        height = 0
        for child in children:
            if not isinstance(child, Tree):
                raise TypeError(
                    f"a child of a Tree must be a Tree; node {label!r} got {type(child).__name__}; "
                    "structnet.parse.nested makes a Tree of (label, child, child, ...)"
                )
            size += child.size
            if child.height >= height:
                height = child.height + 1
        tree.size = size
        tree.height = height
        # The children's hashes are cached, so this never descends.
        tree._hash = hash((label, token, children))
        # Setting six fields past a __setattr__ that refuses would take twice as long.
        if cls is Tree:
            tree.__class__ = Tree
            return tree  # type: ignore[return-value]  # of that class since the line above
        sealed = super().__new__(cls)  # of a subclass, which may have fields of its own
        for name in _Unsealed.__slots__:
            object.__setattr__(sealed, name, getattr(tree, name))
        return sealed

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Tree is immutable; cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Tree is immutable; cannot delete {name!r}")

    @classmethod
    def from_postorder(cls, nodes: Iterable[tuple[Hashable, int, Hashable | None]]) -> Tree:
        """The tree of ``(label, number of children, token)``, children before parents.

        Raises:
            ValueError: fewer nodes come before a node than it has children, or nodes are left over.

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

    @classmethod
    def fromstring(cls, text: str, separator: str | None = None) -> Tree:
        """The tree of a text in brackets, ``(label child child ...)``, as ``str(tree)`` writes it.

        Labels are the strings between spaces and brackets; ``(x)`` is a leaf, as ``x`` is. So a
        label with a space or a bracket in it, such as ``"hello world (x)"``, does not survive
        ``str(tree)``, and a label that is a number comes back as text.
        Treebanks are read with :func:`structnet.parse.bracketed`, which understands traces and
        functions, and shows the place of an error.

        Args:
            text: one tree.
            separator: characters between a node's label and its token; only the first occurrence
                separates. None if there are no tokens.

        Raises:
            ValueError: the brackets do not balance, one is empty, or there is not one tree.

        Example:
            >>> Tree.fromstring("(NP (DT the) (NN cat))")[1, 0]
            <Tree cat>
            >>> Tree.fromstring("(root/bark nsubj/Dogs)", separator="/").token
            'bark'
        """
        return cls.from_postorder(postorder_of(text, separator))

    def __getitem__(self, place: int | tuple[int, ...]) -> Tree:
        """The child at a place or, for a tuple of places, the node at the end of that path.

        A tree has neither length nor iterator, but ``tree.children`` has both: a tree that is given
        for a list of trees is an error, and is not taken for the list of its children.

        Raises:
            IndexError: a node has no such child.
            TypeError: a place is not an int.
        """
        node = self
        for step in place if isinstance(place, tuple) else (place,):
            try:
                node = node.children[index(step)]
            except TypeError:
                raise TypeError(
                    f"a place in a tree is an int, or a tuple of ints from the top down; "
                    f"got {place!r}"
                ) from None
            except IndexError:
                raise IndexError(
                    f"place {place!r}: node {node.label!r} has {len(node.children)} children; "
                    f"got {step!r}"
                ) from None
        return node

    # Else Python would iterate with __getitem__.
    __iter__ = None

    def preorder(self) -> Iterator[Tree]:
        """Every node, parents before children, children in order."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def postorder(self, once: bool = False) -> Iterator[Tree]:
        """Every node, children before parents, children in order.

        Args:
            once: True to visit a subtree that is one object in several places only once.
        """
        if once:
            return self._distinct()
        reversed_order = []
        stack = [self]
        while stack:
            node = stack.pop()
            reversed_order.append(node)
            stack.extend(node.children)
        return reversed(reversed_order)

    def _distinct(self) -> Iterator[Tree]:
        seen: set[int] = set()
        stack: list[tuple[Tree, bool]] = [(self, False)]  # and whether its children are done
        while stack:
            node, done = stack.pop()
            if done:
                yield node
            elif id(node) not in seen:
                seen.add(id(node))
                stack.append((node, True))
                stack.extend((child, False) for child in reversed(node.children))

    def leaves(self) -> Iterator[Tree]:
        """The nodes without children, from left to right."""
        return (node for node in self.preorder() if not node.children)

    def map(
        self,
        label: Callable[[Tree], Hashable] | None = None,
        token: Callable[[Tree], Hashable | None] | None = None,
    ) -> Tree:
        """A tree of the same shape with new labels, or tokens, or both.

        The words of a text (:func:`structnet.trees.with_words`) are nodes like others here; a text
        stays a text, unless it gets a token.

        Args:
            label: function of a node that returns its new label; None to keep labels.
            token: function of a node that returns its new token, or None for no token; None to
                keep tokens.

        Example:
            >>> tree = Tree.fromstring("(NP (DT The) (NN cat))")
            >>> tree.map(lambda node: node.label if node.children else node.label.lower())
            <Tree (NP (DT the) (NN cat))>
        """
        made: dict[int, Tree] = {}  # a subtree in several places is made once
        for node in self.postorder(once=True):
            carried = node.token if token is None else token(node)
            kind = type(node) if carried is None else Tree
            new, below = node.label if label is None else label(node), node.children
            made[id(node)] = kind(new, [made[id(child)] for child in below], carried)
        return made[id(self)]

    def relabel(self, labels: Mapping[Hashable, Hashable]) -> Tree:
        """The tree with some labels of inner nodes and leaves replaced.

        Args:
            labels: new label for each old one; labels that are not in it stay as they are.

        Example:
            >>> Tree.fromstring("(NP (NNS cats))").relabel({"NNS": "NN"})
            <Tree (NP (NN cats))>
        """
        return self.map(lambda node: labels.get(node.label, node.label))

    def fold(self, function: Callable[[Tree, list[Value]], Value]) -> Value:
        """Calls ``function(node, results of its children)`` from the leaves up; returns the root's.

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

    def __str__(self) -> str:
        """The tree in brackets, ``(label child child)``; a token follows its label after "/".

        :meth:`fromstring` reads back labels that are text, not empty, without blanks and brackets.
        """
        return written(self)

    def __repr__(self) -> str:
        text = str(self) if self.size <= 50 else f"{self.label} with {self.size} nodes"
        return f"<Tree {text}>"

    def pretty(self) -> str:
        """The tree with one node per line, indented by depth, as a file browser draws folders.

        Example:
            >>> print(Tree("MAX", [Tree("2"), Tree("MIN", [Tree("4")])]).pretty())
            MAX
            ├─ 2
            └─ MIN
               └─ 4
        """
        return outlined(self)

    def __reduce__(self) -> tuple:
        # pickle descends by recursion; a flat list, each object once, does not need it to.
        number: dict[int, int] = {}
        flat: list[tuple[Hashable, list[int], Hashable | None]] = []
        kinds: dict[int, type[Tree]] = {}  # of nodes of a subclass ...
        fields: dict[int, dict] = {}  # ... and what it adds to them
        for node in self.postorder(once=True):
            number[id(node)] = len(flat)
            if type(node) is not Tree:
                kinds[len(flat)] = type(node)
                if attributes := getattr(node, "__dict__", None):
                    fields[len(flat)] = attributes
            flat.append((node.label, [number[id(child)] for child in node.children], node.token))
        return (_unpickled, (flat, kinds, fields))

    def __copy__(self) -> Tree:
        return self

    def __deepcopy__(self, memo: dict) -> Tree:
        return self

    def _repr_svg_(self) -> str:
        """The picture that a notebook shows; for a large tree, only its top."""
        # Imported by name: pictures are a higher layer, but a notebook asks the tree for one.
        return import_module("structnet.plot.svg").tree_svg(self)


def checked_trees(trees: Iterable[Tree]) -> list[Tree]:
    """A list of trees.

    Raises:
        TypeError: this is no list, or something in it is no Tree.
    """
    listed = list(trees)
    for each in listed:
        if not isinstance(each, Tree):
            raise TypeError(
                "expected a list of Trees, which structnet.parse.as_tree makes of text and of "
                f"parses; one is a {type(each).__name__}"
            )
    return listed


def _unpickled(
    flat: list[tuple[Hashable, list[int], Hashable | None]],
    kinds: Mapping[int, type[Tree]] = MappingProxyType({}),
    fields: Mapping[int, dict] = MappingProxyType({}),
) -> Tree:
    trees: list[Tree] = []
    for i, (label, children, token) in enumerate(flat):
        trees.append(kinds.get(i, Tree)(label, [trees[child] for child in children], token))
        for name, value in fields.get(i, {}).items():
            object.__setattr__(trees[i], name, value)
    return trees[-1]
