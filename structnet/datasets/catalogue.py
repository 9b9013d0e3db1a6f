"""One-line descriptions of the data sets, for help texts; this module imports nothing else."""

from __future__ import annotations

TREE_SETS = {
    "listops": "nested list operations, ten values",
    "lrt": "pairs of logical sentences, seven relations",
}
ARRAY_SETS = {
    "digits": "1,797 digits of 8 x 8 pixels; comes with scikit-learn",
    "mnist": "70,000 digits of 28 x 28 pixels",
    "cifar10": "60,000 colour photographs of 32 x 32 pixels, ten classes",
    "sarcos": "a robot arm: 21 inputs, 7 torques; splits the test file if that is the only one",
}
TEXT_SETS = {
    "brown": "a million words of American English",
    "wikitext-2": "two million words of Wikipedia articles",
    "gutenberg": "the books of Project Gutenberg found in your data folder",
    "pydoc": "Python's own help on the language; comes with Python",
}
PACKED = (".gz", ".bz2")
# Endings of the names of tables, and of files of sparse rows; they may be compressed.
TABLES = tuple(f".{kind}{end}" for kind in ("csv", "tsv") for end in ("", *PACKED))
SPARSE = tuple(f".{kind}{end}" for kind in ("svm", "libsvm", "svmlight") for end in ("", *PACKED))
TEXTS = (".txt",)
LABELLED = (*TEXTS, ".ft")  # endings of files of labelled text
OWN = {
    "FILE.mrg": "your own trees (or .conllu, .nwk, .jsonl, LABEL<TAB>TREE, a folder of folders)",
    "FILE.csv": "your own table (or FILE.tsv) of numbers and text, with a column to predict",
    "FILE.svm": "your own sparse rows (or FILE.libsvm, FILE.svmlight): a label and COLUMN:VALUE",
    "FILE.txt": "your own text: one sentence on each line, blanks between words; or labelled text",
}
