"""The user's own trees and their targets, from files of lines, treebanks and folders."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from structnet.checks import check_one_of
from structnet.datasets.csv_file import is_number, number
from structnet.datasets.tree_file_formats import FORMATS, NAMES, NODE_LABELS, Place, whole
from structnet.datasets.tree_file_rows import (
    SEVERAL_LINES,
    TreeFileError,
    Unreadable,
    typed_json,
)
from structnet.datasets.tree_file_sources import (
    BY_FOLDERS,
    FOLDERS,
    Content,
    ReadOptions,
    content_in,
    content_in_text,
    joined,
)
from structnet.datasets.tree_file_targets import (
    INSIDE,
    KINDS,
    NODES,
    ROOT,
    Kind,
    class_of,
    guess,
    text_of,
)
from structnet.trees.memory import collector_paused
from structnet.trees.tree import Tree

PAIRS = "pairs"
TASKS = (*KINDS, PAIRS)
SHOWN = 3  # folders named in a message


@dataclass(frozen=True)
class TreeFile:
    """Trees and their targets.

    Attributes:
        path: path of the file, or of the folder of folders.
        trees: trees, or pairs of trees.
        targets: target of each example: the name of a class, a number, or a list with a label for
            each node in preorder, where None is no label. The target of an example is None if it
            has none, which is allowed where targets are not needed. None without any targets.
        task: "classification", "regression" or "nodes"; None without targets.
        format: format of the trees.
        target: source of the targets: a column, comments, the trees, or folders.
        places: place of each example: its file and line.
        unreadable: place and fault of each example that was left out.
        guesses: descriptions of the choices made for options that were not given.
        node_label: column of CoNLL-U that labels the nodes; None for their relations.
        columns: names of the columns with trees.
    """

    path: Path
    trees: list[Tree] | list[tuple[Tree, Tree]]
    targets: list[Any] | None
    task: Kind | None
    format: str
    target: str | None
    unreadable: Unreadable
    guesses: tuple[str, ...]
    node_label: str | None = None
    places: Sequence[Place] = ()
    columns: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.trees)

    def __getitem__(self, places: Sequence[int]) -> TreeFile:
        targets = None if self.targets is None else [self.targets[i] for i in places]
        trees: Any = [self.trees[i] for i in places]
        where = [self.places[i] for i in places] if self.places else ()
        return replace(self, trees=trees, targets=targets, places=where)

    @property
    def pairs(self) -> bool:
        """True if an example is a pair of trees."""
        return bool(self.trees) and isinstance(self.trees[0], tuple)

    @property
    def groups(self) -> list[str] | None:
        """The group of each example, or its file; None unless some examples share one."""
        groups = [place.group or place.file for place in self.places]
        return groups if any(groups) and len(set(groups)) < len(groups) else None

    @property
    def read_arguments(self) -> dict[str, Any]:
        """The arguments of :func:`read_trees` that read other files in the same way."""
        kind = {"format": self.format, "target": self.target, "task": self.task}
        label = {} if self.node_label is None else {"node_label": self.node_label}
        return kind | {"pairs": self.pairs} | label

    @property
    def each_tree(self) -> list[Tree]:
        """All trees in a list; those of a pair follow each other."""
        return [
            tree for each in self.trees for tree in (each if isinstance(each, tuple) else (each,))
        ]

    @property
    def each_target(self) -> list[Any]:
        """All targets that are not None, or the labels of all nodes that have one."""
        targets: list[Any] = [each for each in self.targets or () if each is not None]
        if self.task != "nodes":
            return targets
        return [label for labels in targets for label in labels if label is not None]


@collector_paused()
def read_trees(
    path: str | Path,
    format: str | None = None,
    target: str | None = None,
    task: str | None = None,
    *,
    targets_needed: bool = True,
    pairs: bool = False,
    node_label: str | None = None,
    classes: Collection[str] | None = None,
    group: str | None = None,
) -> TreeFile:
    """Reads the trees in a file or folder, and their targets.

    ==================================  ==========================================================
    file                                targets
    ==================================  ==========================================================
    lines of ``label<TAB>tree``, or of  a column, by default one called label, target, class, y or
    two trees (pairs); ``.csv``         gold, or the first; the first line may name the columns
    ``.jsonl``: an object on each line  a field, by default one of these names; the trees are texts
                                        in a field called tree, or in tree1 and tree2
    a treebank, ``.mrg``: trees on      the label of each root, or of each node, which is then
    one line or on several              hidden from the tree
    ``.conllu``                         comments of the sentences, ``# sentiment = good``
    a folder of folders of files        the name of each file's folder
    a folder of JSON files, an object   a field, by default one of these names; the tree is the rest
    in each                             of the object, or its field called tree
    ==================================  ==========================================================

    Args:
        path: path of the file or folder.
        format: format of the trees: ``"bracketed"``, ``"penn"`` (the same, without traces and
            function tags), ``"listops"``, ``"logic"``, ``"conllu"``, ``"newick"``, ``"json"``,
            ``"xml"``, ``"html"`` or ``"python"``; or ``"jsonl"`` for a file of objects with another
            ending. By default it is found from the file's ending or its content.
        target: name or number (from 1) of a column, name of a field, or key of a comment; or
            ``"first-column"``, ``"root-label"`` or ``"node-labels"``.
        task: "classification", "regression", "nodes" or "pairs". By default numbers are for
            regression, unless they are whole and few of them differ.
        targets_needed: False to accept files and examples without targets.
        pairs: True for examples of two trees, even if all trees in a column are leaves; the task
            "pairs" implies it.
        node_label: column of CoNLL-U that labels a word's node: "upos", "xpos", "lemma", "feats",
            "form", "deps", "misc" or, by default, "deprel"; the word itself is the token.
        classes: known classes. Where targets are not needed, a folder with another name is not a
            class, and the trees in its files have no target.
        group: name or number of a column with the group of each example, such as its document or
            author. Not allowed for a folder, whose groups are its files.

    Raises:
        TreeFileError: the file is empty, most of its trees cannot be read, there is no such column,
            or there are no targets.
        ValueError: an argument is wrong.
        OSError: the file cannot be opened.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "expressions.tsv")
        ...     _ = path.write_text("even\\t[MAX 2 4 ]\\nodd\\t[MIN 3 [MAX 5 7 ] ]\\n")
        ...     data = read_trees(path)
        >>> data.trees, data.targets
        ([<Tree (MAX 2 4)>, <Tree (MIN 3 (MAX 5 7))>], ['even', 'odd'])
        >>> data.task, data.format
        ('classification', 'listops')
    """
    if format is not None:
        check_one_of("format", format, NAMES, "read_trees")
    if task is not None:
        check_one_of("task", task, TASKS, "read_trees")
    if node_label is not None:
        check_one_of("node_label", node_label, NODE_LABELS, "read_trees")
    path = Path(path)
    options = ReadOptions(format, target, targets_needed, pairs or task == PAIRS, node_label, group)
    content = content_in(path, options)
    _refuse_mostly_bad(path, content)
    return replace(_checked(path, content, task, targets_needed, classes), node_label=node_label)


def read_text(
    text: str | Sequence[str],
    format: str,
    target: str | None = None,
    task: str | None = None,
    *,
    pairs: bool = False,
    node_label: str | None = None,
) -> TreeFile:
    """Reads trees from typed text, such as trees to predict; they need no targets.

    Args:
        text: trees, or lines as in a file, with or without targets. Several texts are read one by
            one, so that a fault in one does not affect the others, and the place of an example is
            the number of its text.
        format, target, task, pairs, node_label: arguments of :func:`read_trees`.

    Raises:
        TreeFileError: the text has no trees in the format.

    Example:
        >>> read_text("[MAX 2 4 ]", "listops").trees
        [<Tree (MAX 2 4)>]
    """
    path, texts = Path("the input"), [text] if isinstance(text, str) else text
    options = ReadOptions(format, target, False, pairs or task == PAIRS, node_label)
    if not any(each.strip() for each in texts):
        raise TreeFileError("the input is empty; expected a tree")
    reader = _typed if len(texts) == 1 else _typed_or_fault
    content = joined([reader(path, each, options) for each in texts])
    if not content.examples:
        _refuse_mostly_bad(path, content)
    return replace(_checked(path, content, task, False), node_label=node_label)


def _typed(path: Path, text: str, options: ReadOptions) -> Content:
    """The trees of one text."""
    if not text.strip():
        raise TreeFileError("it is empty; expected a tree")
    if options.format == "json" and not options.pairs:
        text = typed_json(text, options.target)
    return content_in_text(path, text, options)


def _typed_or_fault(path: Path, text: str, options: ReadOptions) -> Content:
    """The trees of one text among several, or the fault in it."""
    try:
        return _typed(path, text, options)
    except TreeFileError as error:
        faults = [(Place(line=1), str(error).removeprefix(f"{path}, line 1: "))]
        return Content([], [], [], faults, str(options.format), options.target, [])


def _checked(
    path: Path,
    content: Content,
    task: str | None,
    needed: bool,
    classes: Collection[str] | None = None,
) -> TreeFile:
    """Checks the targets and converts them for the task."""
    pairs = len(content.examples[0]) == 2
    _refuse_other_number(path, content, task, pairs)
    content = _inside(content, needed) if content.target in INSIDE else content
    targets = [text_of(value) for value in content.targets]
    if content.target == FOLDERS and not needed and task is not None:
        targets = _named_by_folders(content, targets, task, classes)
    kind = _kind(path, content, [each for each in targets if each is not None], task, needed)
    if kind != "regression":
        targets = [class_of(target) for target in targets]
    kept, faults = _sound(content, targets, kind, needed)
    if not kept:
        place, fault = faults[0]
        raise TreeFileError(f"{path}, {place}: {fault}")
    trees: Any = [content.examples[i] if pairs else content.examples[i][0] for i in kept]
    chosen = [targets[i] for i in kept]
    if kind == "regression":
        chosen = [None if each is None else number(each) for each in chosen]
    if all(each is None for each in chosen):  # as for trees that are only to be predicted
        kind = None
    bad, guesses = sorted(content.unreadable + faults), tuple(content.guesses)
    origin = content.format, content.target
    places = [content.places[i] for i in kept]
    others: dict[str, Any] = {"places": places, "columns": content.columns}
    return TreeFile(path, trees, chosen if kind else None, kind, *origin, bad, guesses, **others)


def _named_by_folders(
    content: Content, names: list[Any], task: str, classes: Collection[str] | None
) -> list[Any]:
    """Names of folders as targets, or None for folders that are not classes, or not numbers."""
    unknown = {
        name
        for name in set(names)
        if _fault(Tree(""), name, task) or not (classes is None or class_of(name) in classes)
    }
    number, folders = sum(name in unknown for name in names), sorted(unknown - {None})
    content.guesses[:] = [guess for guess in content.guesses if guess != BY_FOLDERS]
    if 0 < number < len(names):
        others = f" ({', '.join(folders[:SHOWN])}{' ...' * (len(folders) > SHOWN)})" * bool(folders)
        kind = "numbers" if task == "regression" else "classes"
        content.guesses.append(
            f"truth: the folders that are {kind}; {number:,} of {len(names):,} trees are in no "
            f"such folder{others} and have none"
        )
    return [None if name in unknown else name for name in names]


def _refuse_other_number(path: Path, content: Content, task: str | None, pairs: bool) -> None:
    """Raises TreeFileError for single trees where pairs are needed, or the other way round."""
    if task == PAIRS and not pairs:
        raise TreeFileError(
            f"{path} has one tree in each example; --task pairs needs two, LABEL<TAB>TREE<TAB>TREE"
        )
    if pairs and (content.target in INSIDE or task == "nodes"):
        raise TreeFileError(f"{path} has pairs of trees; their roots and nodes cannot be targets")


def _kind(
    path: Path, content: Content, targets: Sequence[Any], task: str | None, needed: bool
) -> Kind | None:
    """The given task, or the one that the targets suggest; None without targets."""
    if not targets:
        if needed:
            raise TreeFileError(_no_targets(path, content))
        return None
    if task is not None and task != PAIRS:
        return cast(Kind, task)
    kind, why = ("classification", "labels") if content.target == ROOT else guess(targets)
    content.guesses.append(f"task: {kind} ({why})")
    return cast(Kind, kind)


def _inside(content: Content, needed: bool) -> Content:
    """Takes the targets out of the trees; ``needed`` means that every ``*`` is a label."""
    parted = [INSIDE[content.target or ""](tree, needed) for (tree,) in content.examples]
    examples: list[tuple[Tree, ...]] = [(tree,) for tree, _ in parted]
    return content._replace(examples=examples, targets=[target for _, target in parted])


def _refuse_mostly_bad(path: Path, content: Content) -> None:
    bad, good = len(content.unreadable), len(content.examples)
    if bad <= good and good:
        return
    if not bad:
        raise TreeFileError(f"{path} has no trees in the format {content.format}")
    place, fault = min(content.unreadable)
    hint = SEVERAL_LINES if any("unclosed" in fault for _, fault in content.unreadable) else ""
    raise TreeFileError(
        f"{path}: {bad:,} of {bad + good:,} trees cannot be read in the format {content.format}; "
        f"the first, {place}, {fault}{hint}"
    )


def _sound(
    content: Content, targets: Sequence[Any], kind: str | None, needed: bool
) -> tuple[list[int], Unreadable]:
    """The places of the examples whose targets fit the task, and the faults of the others."""
    kept, faults = [], []
    for i, (trees, value) in enumerate(zip(content.examples, targets, strict=True)):
        fault = _fault(trees[0], value, kind) if needed or kind else ""
        if fault and (needed or value is not None):
            faults.append((content.places[i], fault))
        else:
            kept.append(i)
    return kept, faults


def _fault(tree: Tree, value: Any, kind: str | None) -> str:
    """The fault of a target; empty if there is none."""
    if value is None:
        return "the target is missing"
    if kind == "nodes":
        if not isinstance(value, list):
            return f"expected a list with a label for each node; got {value!r}"
        if len(value) != tree.size:
            return f"{len(value)} labels for a tree of {tree.size} nodes; expected one for each"
        return ""
    if isinstance(value, list):
        return f"expected one value to predict; got a list of {len(value)}"
    if kind == "regression" and not is_number(value):
        return f"expected a number to predict; got {value!r}"
    return ""


def _no_targets(path: Path, content: Content) -> str:
    ways = [f"--target {ROOT} (the label of the root)", f"{NODES} (the label of every node)"]
    if FORMATS[content.format].split is whole:
        return (
            f"{path} is one {content.format} document, with nothing to predict; expected a folder "
            "with a folder of such files for each class, or lines of FILE.jsonl with the fields "
            "tree and label"
        )
    if content.format == "conllu":
        ways.append("the key of a comment, such as sentiment for '# sentiment = good'")
    hint = f" ({content.target} is empty)" if content.target else ""
    return (
        f"{path} has trees and nothing to predict{hint}; give {', '.join(ways)}, or put each tree "
        "on a line LABEL<TAB>TREE"
    )
