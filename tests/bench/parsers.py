"""Reading texts of each format: seconds, and the memory that they take beside the text.

python tests/bench/parsers.py [--quick] [--seed N] [--memory] [FORMAT ...]
"""

from __future__ import annotations

import argparse
import json
import tracemalloc
from collections.abc import Callable, Iterable
from random import Random

from common import report, seconds

from structnet import parse
from structnet.datasets import listops
from structnet.trees import Tree

WORDS = [f"w{number:x}" for number in range(20_000)]  # as many as a treebank has


def repeated(piece: Callable[[Random], str], rng: Random, size: int) -> Iterable[str]:
    """Pieces of a text until it has a size; of 2,000 different ones, as drawing takes its time."""
    pieces = [piece(rng) for _ in range(2_000)]
    while size > 0:
        drawn = rng.choice(pieces)
        size -= len(drawn)
        yield drawn


def listops_piece(rng: Random) -> str:
    return parse.to_listops(listops.generate(1, rng.randrange(2**31))[0]) + " "


def sentence(rng: Random, depth: int = 0) -> str:
    kind = rng.random()
    if depth > 6 or kind < 0.3:
        return rng.choice("abcdef")
    if kind < 0.5:
        return f"( not {sentence(rng, depth + 1)} )"
    operator = rng.choice(("and", "or"))
    return f"( {sentence(rng, depth + 1)} ( {operator} {sentence(rng, depth + 1)} ) )"


def phrase(rng: Random, depth: int = 0) -> str:
    if depth > 1 and (depth > 6 or rng.random() < 0.4):
        return f"({rng.choice(('NN', 'DT', 'VB', 'IN'))} {rng.choice(WORDS)})"
    below = " ".join(phrase(rng, depth + 1) for _ in range(rng.choice((1, 2, 2, 3))))
    return f"({rng.choice(('S', 'NP', 'VP', 'NP-SBJ', 'PP'))} {below})"


def parsed(rng: Random) -> str:
    return phrase(rng) + "\n"


def table(rng: Random) -> str:
    length = rng.randrange(5, 40)
    row = "{}\t{}\tlemma\tNOUN\tNN\tNumber=Sing\t{}\tnsubj\t_\tSpaceAfter=No\n".format
    rows = (row(i, rng.choice(WORDS), rng.randrange(i)) for i in range(2, length))
    return row(1, "root", 0) + "".join(rows).replace("\t0\tnsubj", "\t1\tnsubj") + "\n"


def record(rng: Random) -> str:
    tags = [rng.choice(WORDS) for _ in range(rng.randrange(5))]
    place = {"x": rng.random(), "y": rng.randrange(1000), "known": rng.random() < 0.5}
    value = {"id": rng.randrange(10**6), "name": rng.choice(WORDS), "tags": tags, "place": place}
    return json.dumps(value) + ","


def element(rng: Random) -> str:
    word, other = rng.choice(WORDS), rng.choice(WORDS)
    return f'<item id="{rng.randrange(1000)}"><name>{word}</name>text <b>{other}</b> end</item>\n'


def function(rng: Random) -> str:
    a, b = rng.choice(WORDS), rng.choice(WORDS)
    return f"def {a}(x, y=1):\n    for i in range(x):\n        y += {b}(i)[0] * 2\n    return y\n\n"


def around(before: str, piece: Callable[[Random], str], after: str) -> Callable[[Random, int], str]:
    """One text of pieces in a row, and what stands around them."""

    def text(rng: Random, size: int) -> str:
        return before + "".join(repeated(piece, rng, size)).rstrip(",") + after

    return text


def conjunction(rng: Random, size: int) -> str:
    """A sentence as long as a text: each one joined to those before it."""
    sentences = list(repeated(sentence, rng, size))
    return "( " * len(sentences) + "a" + "".join(f" ( and {each} ) )" for each in sentences)


# Format: the text of a size, and what reads it.
FORMATS: dict[str, tuple[Callable[[Random, int], str], Callable[[str], object]]] = {
    "listops": (around("[MAX ", listops_piece, "]"), parse.listops),
    "logic": (conjunction, parse.logic),
    "bracketed": (around("", parsed, ""), lambda text: list(parse.bracketed_many(text))),
    "conllu": (around("", table, ""), lambda text: list(parse.conllu_many(text))),
    "json": (around("[", record, "]"), parse.json),
    "json value": (around("[", record, "]"), lambda text: parse.json(json.loads(text))),
    "xml": (around("<all>", element, "</all>"), parse.xml),
    "html": (around("<div>", element, "</div>"), parse.html),
    "python": (around("", function, ""), parse.python),
}


def peak(work: Callable[[], object]) -> int:
    """The most bytes that Python has at once because of some work."""
    tracemalloc.start()
    kept = work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del kept
    return most


def nodes(trees: object) -> int:
    return sum(tree.size for tree in ([trees] if isinstance(trees, Tree) else trees))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("formats", nargs="*", help=f"of {', '.join(FORMATS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="1 MB instead of 10 MB")
    parser.add_argument("--seed", type=int, default=0, help="of the texts (default 0)")
    parser.add_argument("--memory", action="store_true", help="memory in place of time")
    options = parser.parse_args()
    rows = []
    for name in options.formats or FORMATS:
        make, read = FORMATS[name]
        text = make(Random(options.seed), 10**6 if options.quick else 10**7)
        row = {"format": name, "MB": len(text.encode()) / 1e6}
        if options.memory:
            row["memory / text"] = peak(lambda t=text, r=read: r(t)) / len(text.encode())
        else:
            row["seconds"] = min(seconds(lambda t=text, r=read: r(t), repeats=3, warm_up=0)[0])
            row["nodes / s"] = nodes(read(text)) / row["seconds"]
        rows.append(row)
    report(rows, seed=options.seed)


if __name__ == "__main__":
    main()
