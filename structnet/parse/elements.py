"""Trees of elements, from the tags and texts of XML and HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from structnet.parse.errors import ParseError
from structnet.parse.reading import Leaves
from structnet.trees.tree import Tree


class Elements:
    """Trees from a stream of start tags, texts and end tags.

    Args:
        attributes: True to put attributes among the children.
        label: attribute to label elements with, or several, of which the first that an element has
            is used; an element without it is labelled with its tag.
        chosen: tags of the elements that are trees; None for the outermost element.

    Example:
        >>> elements = Elements(attributes=True, label="pos")
        >>> elements.start("w", [("pos", "NN"), ("id", "3")])
        >>> elements.text(" dogs")
        >>> elements.close()
        >>> elements.roots
        [<Tree (NN (@id 3) dogs)>]
    """

    def __init__(
        self,
        attributes: bool,
        label: str | Sequence[str] | None = None,
        chosen: str | Iterable[str] | None = None,
    ) -> None:
        self.roots: list[Tree] = []
        self._children = self.roots  # of the innermost open element
        self._open: list[tuple[str, str, list[Tree]]] = []  # tag, label, siblings
        self._outside: list[str] = []  # tags of open elements around those that are chosen
        self._attributes = attributes
        self._labels = () if label is None else (label,) if isinstance(label, str) else (*label,)
        self._chosen = None if chosen is None else _tags(chosen)
        self._pieces: list[str] = []  # of the text since the last tag
        # What occurs often is stored once.
        self._texts = Leaves()
        self._pairs: dict[tuple[str, str | None], Tree] = {}

    @property
    def innermost(self) -> str | None:
        """The tag of the innermost open element; None if no element is open."""
        if self._open:
            return self._open[-1][0]
        return self._outside[-1] if self._outside else None

    def start(self, tag: str, pairs: Sequence[tuple[str, str | None]] = ()) -> None:
        """Open an element with its attributes and their values, if they have one."""
        if self._pieces:
            self.end_text()
        if not self._open and self._chosen is not None and tag not in self._chosen:
            self._outside.append(tag)
            return
        label = tag
        if self._labels and pairs:
            label, pairs = self._labelled(tag, pairs)
        self._open.append((tag, label, self._children))
        self._children = []
        if pairs and self._attributes:
            for pair in pairs:
                node = self._pairs.get(pair)
                if node is None:
                    name, value = pair
                    node = Tree("@" + name, () if value is None else (Tree(value),))
                    self._pairs[pair] = node
                self._children.append(node)

    def text(self, piece: str) -> None:
        """Add a piece of text to the innermost open element; a comment may come between two."""
        self._pieces.append(piece)

    def end_text(self) -> None:
        """Finish the text that the pieces since the last tag make up, without blanks around it."""
        text = "".join(self._pieces).strip()
        self._pieces.clear()
        if not text or (self._chosen is not None and not self._open):
            return
        self._children.append(self._texts[text])

    def close(self) -> None:
        """Finish the innermost open element."""
        if self._pieces:
            self.end_text()
        if not self._open:
            self._outside.pop()
            return
        _, label, siblings = self._open.pop()
        siblings.append(Tree(label, self._children))
        self._children = siblings

    def trees(self, reading: Iterator[None], file: str | None) -> Iterator[Tree]:
        """The trees of a document, handed out wherever its reader stops on its way.

        Raises:
            ParseError: as of the reader, with the file's name, behind the trees before the error.
        """
        try:
            for _ in reading:
                yield from self.roots
                self.roots.clear()
        except ParseError as error:
            yield from self.roots
            raise error.but(file=file) from None

    def _labelled(
        self, tag: str, pairs: Sequence[tuple[str, str | None]]
    ) -> tuple[str, Sequence[tuple[str, str | None]]]:
        """An element's label, and the attributes that are left."""
        values = dict(pairs)
        for name in self._labels:
            value = values.get(name)
            if value is not None:
                return value, [pair for pair in pairs if pair[0] != name]
        return tag, pairs


def _tags(chosen: str | Iterable[str]) -> frozenset[str]:
    tags = frozenset((chosen,) if isinstance(chosen, str) else chosen)
    if not tags or not all(isinstance(tag, str) and tag for tag in tags):
        raise ValueError(f"elements must be a tag or several; got {chosen!r}")
    return tags
