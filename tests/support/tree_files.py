"""Files of forty trees of one's own, for every task, and a training that is short."""

from __future__ import annotations

SMALL = ["--hidden-size", "8", "--epochs", "6", "--batch-size", "8"]


TREES = [f"({a} ({b} x) ({c} y))" for a in "PQ" for b in "ABCD" for c in "ABCDE"]


def lines(of: str) -> str:
    """Forty trees; their labels follow from that of the root, and the numbers from the others."""
    rows = []
    for i, tree in enumerate(TREES):
        word = "yes" if tree[1] == "P" else "no"
        number = f"{i % 20 / 7:.3f}"
        rows.append({
            "classes": f"{word}\t{tree}",
            "numbers": f"{number}\t{tree}",
            "pairs": f"{word}\t{tree}\t{TREES[-1 - i]}",
            "nodes": tree,
        }[of])  # fmt: skip
    return "\n".join(rows) + "\n"


def conllu(mood: str, word: str) -> str:
    """A sentence of CoNLL-U of two words, with a comment on its mood."""
    row = "{}\t{}\t_\t_\t_\t_\t{}\t{}\t_\t_".format
    lines = [f"# mood = {mood}", row(1, word, 2, "nsubj"), row(2, "bark", 0, "root"), "", ""]
    return "\n".join(lines)
