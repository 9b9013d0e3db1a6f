"""The numbers of labels: inner labels have types, leaf labels and tokens have tokens."""

from __future__ import annotations

import difflib
from collections.abc import Container, Hashable, Iterable, Sequence
from numbers import Integral
from typing import Any

from structnet.trees.label_words import Text, own_children
from structnet.trees.number_tokens import are_many, number_of, token_of_number
from structnet.trees.tree import Tree, checked_trees

NONE = -1  # the type of a node without parameters, the token of a node without input


class VocabularyError(ValueError):
    """A label that a vocabulary does not know, or a node wider than its arity."""


class Nameless:
    """A label that no vocabulary lists and that names nothing, as of a part that is hidden."""


class Vocabulary:
    """The numbers of labels, fixed once so that all forests built with it agree.

    Args:
        types: labels of inner nodes; the i-th has type i. None gives every inner node type 0.
        tokens: labels of leaves, and tokens that inner nodes carry; the i-th has token i.
        arity: the largest number of children of a node; None for any number, for models that have
            no parameters of their own for each place.
        unknown: True to map labels that are not listed to one extra type and one extra token, the
            last of each, instead of raising an error.
        numbers: True to read a token that is not listed by its value, if it is a number or spells
            one; see :mod:`structnet.trees.number_tokens`.
        letters: True to read the letters of all labels as well; see
            :mod:`structnet.trees.spelling`.
        inner_numbers: True to read an inner label that is not listed by its value as well: a node
            without a token gets the number as token, and the unknown type.
        names: True to tell labels that are not listed from each other, though no parameters do;
            see :mod:`structnet.trees.repeats`.

    Attributes:
        types: type of each inner label, as a dictionary in the order of types; None for one type.
        tokens: token of each label, as a dictionary in the order of tokens; ``list(tokens)`` is the
            argument.

    Raises:
        VocabularyError: a label is listed twice, the arity is not an int >= 0 or None, or
            ``inner_numbers`` is given without ``types`` and ``unknown``.

    Example:
        >>> vocabulary = Vocabulary(types=["MAX", "MIN"], tokens="0123456789", arity=5)
        >>> vocabulary.type_of("MIN"), vocabulary.token_of("7")
        (1, 7)
        >>> vocabulary.types, list(vocabulary.tokens)[7]
        ({'MAX': 0, 'MIN': 1}, '7')
        >>> vocabulary.type_of("MINN")
        Traceback (most recent call last):
            ...
        structnet.trees.vocabulary.VocabularyError: unknown inner label 'MINN'; did you mean 'MIN'?
    """

    types: dict[Hashable, int] | None
    tokens: dict[Hashable, int]
    arity: int | None
    unknown: bool
    numbers: bool
    letters: bool
    inner_numbers: bool
    names: bool

    def __init__(
        self,
        types: Sequence[Hashable] | None,
        tokens: Sequence[Hashable],
        arity: int | None,
        unknown: bool = False,
        numbers: bool = False,
        letters: bool = False,
        inner_numbers: bool = False,
        names: bool = False,
    ):
        if inner_numbers and (types is None or not unknown):
            raise VocabularyError("inner_numbers=True needs types and unknown=True")
        if arity is not None:
            if isinstance(arity, bool) or not isinstance(arity, Integral) or arity < 0:
                raise VocabularyError(f"the arity must be an int >= 0, or None; got {arity!r}")
            arity = int(arity)
        self.types = None if types is None else _numbered(types, "inner label")
        self.tokens = _numbered(tokens, "token")
        self.arity = arity
        self.unknown, self.numbers, self.letters = unknown, numbers, letters
        self.inner_numbers, self.names = inner_numbers, names

    @classmethod
    def from_trees(
        cls,
        trees: Iterable[Tree],
        typed: bool = True,
        unknown: bool = False,
        min_count: int = 1,
        any_arity: bool = False,
        numbers: bool | None = False,
    ) -> Vocabulary:
        """All labels that occur in ``trees``, in the order in which they first occur.

        Args:
            trees: the trees to read.
            typed: True to give each inner label a type of its own; False to give all of them type
                0, as for sentiment trees, whose inner labels are targets.
            unknown: the argument of the constructor.
            min_count: number of trees that a label must occur in to be listed; the labels left out
                become the unknown one, whose parameters are trained by them.
            any_arity: True to allow more children than nodes have in ``trees``.
            numbers: True to read tokens and, with ``typed`` and ``unknown``, inner labels that are
                numbers by their values; None to do so with each of the two if there are many
                different ones (:func:`structnet.trees.number_tokens.are_many`).

        Raises:
            TypeError: ``trees`` are no Trees.
            VocabularyError: ``min_count`` is given without ``unknown=True``.
        """
        if min_count > 1 and not unknown:
            raise VocabularyError(
                f"min_count={min_count} needs unknown=True for the labels that it leaves out"
            )
        types: dict[Hashable, int] = {}  # -> trees that have it, in the order of first meeting
        tokens: dict[Hashable, int] = {}
        arity = 0
        seen: set[int] = set()
        trees = checked_trees(trees)  # kept, as another tree could get the id of one that is gone
        for tree in trees:
            # Subtrees that are one object are read once, or sharing would cost what it saves.
            if min_count > 1:
                seen = set()
            met: tuple[set, set] = (set(), set())  # types and tokens of this tree
            stack = [tree]
            while stack:
                node = stack.pop()
                if id(node) in seen:
                    continue
                seen.add(id(node))
                stack.extend(reversed(node.children))
                inner = bool(own_children(node)) or node.token is not None
                counter = types if inner else tokens
                pairs = [(counter, met[not inner], node.label)]
                if node.token is not None:
                    pairs.append((tokens, met[1], node.token))
                if inner:
                    arity = max(arity, len(node.children))
                for counts, here, label in pairs:
                    if label not in here:
                        here.add(label)
                        counts[label] = counts.get(label, 0) + 1
        may_be = typed and unknown and any(number_of(label) is not None for label in types)
        both = ((types, may_be), (tokens, True))
        by_value = [may and (are_many(x) if numbers is None else numbers) for x, may in both]
        kept, words = (
            [
                x
                for x, n in counts.items()
                if n >= min_count and not (each and number_of(x) is not None)
            ]
            for counts, each in zip((types, tokens), by_value, strict=True)
        )
        return cls(
            kept if typed else None,
            words,
            None if any_arity else arity,
            unknown,
            numbers=by_value[1],
            inner_numbers=by_value[0],
        )

    @property
    def any_numbers(self) -> bool:
        """Whether labels of leaves, tokens or inner labels are read by their values."""
        return self.numbers or self.inner_numbers

    @property
    def num_types(self) -> int:
        """The number of types, including the unknown one."""
        return 1 if self.types is None else len(self.types) + self.unknown

    @property
    def num_tokens(self) -> int:
        """The number of tokens, including the unknown one."""
        return len(self.tokens) + self.unknown

    def type_of(self, label: Hashable) -> int:
        """The type of an inner label.

        Raises:
            VocabularyError: the label is not listed and there is no unknown type.
        """
        if self.types is None:
            return 0
        return self._look_up(label, self.types, "inner label")

    def token_of(self, label: Hashable) -> int:
        """The number of a leaf's label or of a token.

        Raises:
            VocabularyError: the label is not listed and there is no unknown token.
        """
        number = self._by_value(label, self.tokens) if self.numbers else NONE
        return self._look_up(label, self.tokens, "token") if number == NONE else number

    def encode(self, node: Tree) -> tuple[int, int]:
        """The type and the token of one node, each ``NONE`` (-1) if the node has none.

        Raises:
            VocabularyError: a label is not known, or the node has more children than the arity.
        """
        if isinstance(node, Text):
            return NONE, self.token_of(node.label)
        if self.arity is not None and len(node.children) > self.arity:
            raise VocabularyError(
                f"node {node.label!r} has {len(node.children)} children; "
                f"the vocabulary's arity is {self.arity}"
            )
        if node.token is not None:
            return self.type_of(node.label), self.token_of(node.token)
        if node.children:
            number = self._by_value(node.label, self.types or ()) if self.inner_numbers else NONE
            return self.type_of(node.label), number
        return NONE, self.token_of(node.label)

    def name_of(self, node: Tree) -> Hashable | None:
        """The label that names a node, its token if it has one, if it is not listed; else None.

        A number that is read by its value counts as listed, and so does a :class:`Nameless` label.
        """
        inner = node.token is None and bool(own_children(node))
        name = node.label if node.token is None else node.token
        listed, by_value = (
            (self.types, self.inner_numbers) if inner else (self.tokens, self.numbers)
        )
        if listed is None or name in listed or isinstance(name, Nameless):
            return None
        if by_value and number_of(name) is not None:
            return None
        return name

    def changed(self, **arguments: Any) -> Vocabulary:
        """The same vocabulary with other arguments, such as ``letters=True``."""
        return self.from_dict(self.to_dict() | arguments)

    def to_dict(self) -> dict:
        """Plain lists and numbers, ready for JSON; :meth:`from_dict` is the inverse."""
        return {
            "types": None if self.types is None else list(self.types),
            "tokens": list(self.tokens),
            "arity": self.arity,
            "unknown": self.unknown,
        } | {  # folders are compared by what is said
            name: True
            for name in ("numbers", "letters", "inner_numbers", "names")
            if getattr(self, name)
        }

    @classmethod
    def from_dict(cls, values: dict) -> Vocabulary:
        """The vocabulary that :meth:`to_dict` described."""
        return cls(**values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.to_dict() == other.to_dict()

    def __repr__(self) -> str:
        return (
            f"Vocabulary({self.num_types} types, {self.num_tokens} tokens, "
            f"{'any arity' if self.arity is None else f'arity {self.arity}'}"
            f"{', unknown allowed' if self.unknown else ''}"
            f"{', numbers by value' if self.numbers else ''}"
            f"{', letters' if self.letters else ''}"
            f"{', inner numbers by value' if self.inner_numbers else ''}"
            f"{', names apart' if self.names else ''})"
        )

    def _by_value(self, label: Hashable, listed: Container[Hashable]) -> int:
        """The token of a number that is read by its value; ``NONE`` for all other labels."""
        value = None if label in listed else number_of(label)
        return NONE if value is None else token_of_number(value)

    def _look_up(self, label: Hashable, numbers: dict[Hashable, int], kind: str) -> int:
        number = numbers.get(label)
        if number is not None:
            return number
        if self.unknown:
            return len(numbers)  # one number after the known ones, shared by all others
        close = difflib.get_close_matches(str(label), [str(known) for known in numbers], n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"{len(numbers)} are known"
        raise VocabularyError(f"unknown {kind} {label!r}; {hint}")


def _numbered(labels: Sequence[Hashable], kind: str) -> dict[Hashable, int]:
    numbers = {label: number for number, label in enumerate(labels)}
    if len(numbers) < len(labels):
        twice = next(label for number, label in enumerate(labels) if numbers[label] != number)
        raise VocabularyError(f"{kind} {twice!r} is listed twice in a vocabulary")
    return numbers
