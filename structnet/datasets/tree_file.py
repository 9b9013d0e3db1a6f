"""Trees of one's own with what is to be predicted of them: files of lines, treebanks, folders."""

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
    Asked,
    Found,
    found_in,
    found_in_text,
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
SHOWN = 3  # folders in a sentence


@dataclass(frozen=True)
class TreeFile:
    """Trees and what is to be predicted of each.

    Attributes:
        path: the file, or the folder of folders.
        trees: trees, or pairs of trees.
        targets: name of the class, number, or list of a label a node in preorder (None where there
            is none), one for each example; None for one that has none where targets are not
            needed, and for all if there are no targets.
        task: "classification", "regression" or "nodes"; None without targets.
        format: format of the trees.
        target: source of the targets: a column, comments, the trees, or folders.
        places: place of each example: its file and line.
        unreadable: place and fault of each example that was left out.
        guesses: choices that nobody asked for, in words.
        node_label: column of CoNLL-U that the nodes are labelled by; None by their relations.
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

    def __len__(self) -> int:
        return len(self.trees)

    def __getitem__(self, places: Sequence[int]) -> TreeFile:
        targets = None if self.targets is None else [self.targets[i] for i in places]
        trees: Any = [self.trees[i] for i in places]
        where = [self.places[i] for i in places] if self.places else ()
        return replace(self, trees=trees, targets=targets, places=where)

    @property
    def pairs(self) -> bool:
        """Is an example two trees?"""
        return bool(self.trees) and isinstance(self.trees[0], tuple)

    @property
    def groups(self) -> list[str] | None:
        """What each example belongs to: a group that was asked for, or a file of several trees."""
        found = [place.group or place.file for place in self.places]
        return found if any(found) and len(set(found)) < len(found) else None

    @property
    def told(self) -> dict[str, Any]:
        """How others like it are read: format, target, task, and whether they are pairs."""
        kind = {"format": self.format, "target": self.target, "task": self.task}
        label = {} if self.node_label is None else {"node_label": self.node_label}
        return kind | {"pairs": self.pairs} | label

    @property
    def each_tree(self) -> list[Tree]:
        """All trees, those of a pair one after the other."""
        return [
            tree for each in self.trees for tree in (each if isinstance(each, tuple) else (each,))
        ]

    @property
    def each_target(self) -> list[Any]:
        """All targets that there are; of nodes, those of each node that has one."""
        told: list[Any] = [each for each in self.targets or () if each is not None]
        if self.task != "nodes":
            return told
        return [label for labels in told for label in labels if label is not None]


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
    """The trees of a file, or of a folder, with what is to be predicted of each.

    ==================================  ==========================================================
    a file                              its targets
    ==================================  ==========================================================
    ``label<TAB>tree`` a line           a column, by default the first; a first line of names may
    (or two trees: pairs); ``.csv``     name the columns
    ``.jsonl``: an object a line        a field, by default one called label, target or class; the
                                        trees are texts in fields called tree (tree1 and tree2)
    a treebank, ``.mrg``: trees on      the label of each root, or of each node; it is then hidden
    one line or on several              from the tree
    ``.conllu``                         what a sentence's comments say, ``# sentiment = good``
    a folder of folders of files        the name of each file's folder
    ==================================  ==========================================================

    Args:
        path: the file or folder.
        format: format of the trees: ``"bracketed"``, ``"penn"`` (the same, without traces and
            function tags), ``"listops"``, ``"logic"``, ``"conllu"``, ``"newick"``, ``"json"``,
            ``"xml"``, ``"html"`` or ``"python"``; ``"jsonl"`` for a file of objects whose name does
            not tell. By default the file's ending tells, or its content.
        target: name or number (from 1) of a column, a field's name or that of a comment;
            ``"first-column"``, ``"root-label"`` or ``"node-labels"``.
        task: "classification", "regression", "nodes" or "pairs". By default numbers are regressed
            on, unless they are few different whole ones.
        targets_needed: False takes a file without targets, too.
        pairs: True says that an example is two trees, also where all of a column are leaves, as
            the task "pairs" does.
        node_label: column of CoNLL-U that labels a word's node: "upos", "xpos", "lemma", "feats",
            "form", "deps", "misc", or "deprel" as by default; the word itself is the token.
        classes: classes that are known. Where targets are not needed, a folder of another name is
            none, and its files have no target.
        group: name or number of a column that says what belongs together, such as the file or the
            author of what stands there; of a folder it is the file.

    Raises:
        TreeFileError: the file is empty, most of it cannot be read, it has no such column, or no
            targets.
        ValueError: a parameter is wrong.
        OSError: it cannot be read at all.

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
    asked = Asked(format, target, targets_needed, pairs or task == PAIRS, node_label, group)
    found = found_in(path, asked)
    _refuse_mostly_bad(path, found)
    return replace(_checked(path, found, task, targets_needed, classes), node_label=node_label)


def read_text(
    text: str | Sequence[str],
    format: str,
    target: str | None = None,
    task: str | None = None,
    *,
    pairs: bool = False,
    node_label: str | None = None,
) -> TreeFile:
    """The trees of a text of which something is asked, as somebody typed them.

    Args:
        text: trees, or lines as a file has them, with targets or without; of several texts each by
            itself, and what cannot be read of one costs no other; its place is its number.
        format, target, task, pairs, node_label: arguments of :func:`read_trees`.

    Raises:
        TreeFileError: it holds no trees of the format.

    Example:
        >>> read_text("[MAX 2 4 ]", "listops").trees
        [<Tree (MAX 2 4)>]
    """
    path, texts = Path("the input"), [text] if isinstance(text, str) else text
    asked = Asked(format, target, False, pairs or task == PAIRS, node_label)
    if not any(each.strip() for each in texts):
        raise TreeFileError("the input is empty; expected a tree")
    reader = _typed if len(texts) == 1 else _typed_or_fault
    found = joined([reader(path, each, asked) for each in texts])
    if not found.examples:
        _refuse_mostly_bad(path, found)
    return replace(_checked(path, found, task, False), node_label=node_label)


def _typed(path: Path, text: str, asked: Asked) -> Found:
    """The trees of one text."""
    if not text.strip():
        raise TreeFileError("it is empty")
    if asked.format == "json" and not asked.pairs:
        text = typed_json(text, asked.target)
    return found_in_text(path, text, asked)


def _typed_or_fault(path: Path, text: str, asked: Asked) -> Found:
    """The trees of one text of several, or what is wrong with it."""
    try:
        return _typed(path, text, asked)
    except TreeFileError as error:
        fault = str(error).removeprefix(f"{path}, line 1: ")
        return Found([], [], [], [(Place(line=1), fault)], str(asked.format), asked.target, [])


def _checked(
    path: Path,
    found: Found,
    task: str | None,
    needed: bool,
    classes: Collection[str] | None = None,
) -> TreeFile:
    """The trees with their targets as the task has them."""
    pairs = len(found.examples[0]) == 2
    _refuse_other_number(path, found, task, pairs)
    found = _inside(found, needed) if found.target in INSIDE else found
    targets = [text_of(value) for value in found.targets]
    if found.target == FOLDERS and not needed and task is not None:
        targets = _named_by_folders(found, targets, task, classes)
    kind = _kind(path, found, [each for each in targets if each is not None], task, needed)
    if kind != "regression":
        targets = [class_of(target) for target in targets]
    kept, faults = _sound(found, targets, kind, needed)
    if not kept:
        place, fault = faults[0]
        raise TreeFileError(f"{path}, {place}: {fault}")
    trees: Any = [found.examples[i] if pairs else found.examples[i][0] for i in kept]
    chosen = [targets[i] for i in kept]
    if kind == "regression":
        chosen = [None if each is None else number(each) for each in chosen]
    if all(each is None for each in chosen):  # as may be of what is only asked about
        kind = None
    said, guesses = sorted(found.unreadable + faults), tuple(found.guesses)
    origin = found.format, found.target
    places = [found.places[i] for i in kept]
    return TreeFile(
        path, trees, chosen if kind else None, kind, *origin, said, guesses, places=places
    )


def _named_by_folders(
    found: Found, names: list[Any], task: str, classes: Collection[str] | None
) -> list[Any]:
    """The folders that are targets, None for others: they may be parts of what is asked about."""
    unknown = {
        name
        for name in set(names)
        if _fault(Tree(""), name, task) or not (classes is None or class_of(name) in classes)
    }
    number, folders = sum(name in unknown for name in names), sorted(unknown - {None})
    found.guesses[:] = [guess for guess in found.guesses if guess != BY_FOLDERS]
    if 0 < number < len(names):
        others = f" ({', '.join(folders[:SHOWN])}{' ...' * (len(folders) > SHOWN)})" * bool(folders)
        kind = "numbers" if task == "regression" else "classes"
        found.guesses.append(
            f"truth: the folders that are {kind}; {number:,} of {len(names):,} trees are in no "
            f"such folder{others} and have none"
        )
    return [None if name in unknown else name for name in names]


def _refuse_other_number(path: Path, found: Found, task: str | None, pairs: bool) -> None:
    """Raise TreeFileError where pairs are asked for and there are none, or the other way round."""
    if task == PAIRS and not pairs:
        raise TreeFileError(
            f"{path} has one tree an example; --task pairs needs two, LABEL<TAB>TREE<TAB>TREE"
        )
    if pairs and (found.target in INSIDE or task == "nodes"):
        raise TreeFileError(f"{path} has pairs of trees; their roots and nodes are no targets")


def _kind(
    path: Path, found: Found, told: Sequence[Any], task: str | None, needed: bool
) -> Kind | None:
    """The task, as it is said or guessed; None without targets."""
    if not told:
        if needed:
            raise TreeFileError(_no_targets(path, found))
        return None
    if task is not None and task != PAIRS:
        return cast(Kind, task)
    kind, why = ("classification", "labels") if found.target == ROOT else guess(told)
    found.guesses.append(f"task: {kind} ({why})")
    return cast(Kind, kind)


def _inside(found: Found, needed: bool) -> Found:
    """The trees without the labels that are their targets; those to learn from have some."""
    parted = [INSIDE[found.target or ""](tree, needed) for (tree,) in found.examples]
    examples: list[tuple[Tree, ...]] = [(tree,) for tree, _ in parted]
    return found._replace(examples=examples, targets=[target for _, target in parted])


def _refuse_mostly_bad(path: Path, found: Found) -> None:
    bad, good = len(found.unreadable), len(found.examples)
    if bad <= good and good:
        return
    if not bad:
        raise TreeFileError(f"{path} has no trees in the format {found.format}")
    place, fault = min(found.unreadable)
    hint = SEVERAL_LINES if any("unclosed" in fault for _, fault in found.unreadable) else ""
    raise TreeFileError(
        f"{path}: {bad:,} of {bad + good:,} trees cannot be read in the format {found.format}; the "
        f"first, {place}, {fault}{hint}"
    )


def _sound(
    found: Found, targets: Sequence[Any], kind: str | None, needed: bool
) -> tuple[list[int], Unreadable]:
    """The examples with the targets of a task, and what is wrong with the others."""
    kept, faults = [], []
    for i, (trees, value) in enumerate(zip(found.examples, targets, strict=True)):
        fault = _fault(trees[0], value, kind) if needed or kind else ""
        if fault and (needed or value is not None):
            faults.append((found.places[i], fault))
        else:
            kept.append(i)
    return kept, faults


def _fault(tree: Tree, value: Any, kind: str | None) -> str:
    """What is wrong with a target, if anything."""
    if value is None:
        return "the target is missing"
    if kind == "nodes":
        if not isinstance(value, list):
            return f"expected a list of a label for each node; got {value!r}"
        if len(value) != tree.size:
            return f"{len(value)} labels for a tree of {tree.size} nodes"
        return ""
    if isinstance(value, list):
        return f"expected one value to predict; got a list of {len(value)}"
    if kind == "regression" and not is_number(value):
        return f"expected a number to predict; got {value!r}"
    return ""


def _no_targets(path: Path, found: Found) -> str:
    ways = [f"--target {ROOT} (what stands at the root)", f"{NODES} (at every node)"]
    if FORMATS[found.format].split is whole:
        return (
            f"{path} is one {found.format} document, with nothing to predict of it; expected a "
            "folder with a folder of such files for each class, or lines of FILE.jsonl with the "
            "fields tree and label"
        )
    if found.format == "conllu":
        ways.append("the key of a comment, as sentiment of '# sentiment = good'")
    said = f" ({found.target} is empty)" if found.target else ""
    return (
        f"{path} has trees and nothing to predict of them{said}; say {', '.join(ways)}, or give "
        "each tree a line LABEL<TAB>TREE"
    )
