"""The paper's comparison of trees of words with flat softmaxes, on the texts that we have.

Reference:
    Jernite, Choromanska, Sontag, ICML 2017, Table 2 (Gutenberg, 65 children, depth 3); the paper
    does not say which books it uses.
"""

from __future__ import annotations

from structnet.label_tree.language_settings import TREES, WITH_TREE
from structnet.recipes.language_model.settings import Choice, LanguageModelRunSettings
from structnet.recipes.paper import Member, Members, PaperTable, Row, Table, values_in
from structnet.recipes.recipe import parts, settings_from, values_of
from structnet.recipes.words import counted

MEASURED = {
    "perplexity": "details.perplexity_with_unknown",
    "ms a training batch": "details.ms_training_batch",
    "ms a test batch": "details.ms_test_batch",
}
DEPTH = {"mean depth": "details.mean_depth"}


def members(choice: Choice, seed: int) -> list[Member]:
    """The runs with one seed."""
    runs = []
    for tree in parts(choice.only, TREES, "--only") or TREES:
        # The paper uses neither n-grams nor dropout.
        own = {"tree": tree, "seed": seed, "ngrams": False, "dropout": 0.0, "start": "huffman"}
        own |= {"learning_rate": 0.05}  # as in the tables that were made before
        own |= {"min_count": 3}  # of Brown's words, a third come up less often
        settings = settings_from(LanguageModelRunSettings, values_of(choice) | own)
        runs.append(Member(tree, f"{choice.data}-{tree}-{seed}", settings.resolved()))
    return runs


def make(choice: Choice, runs: Members) -> Table:
    """The table of trained runs."""
    rows = []
    for tree, trained in runs.items():
        measures = MEASURED | (DEPTH if tree in WITH_TREE else {})
        rows.append(Row(tree, {}, values_in(trained, measures)))
    first = next(iter(runs.values()))[0]
    data, known = first.config["data"], first.ended["details"]["known_words"]
    notes = [
        f"{choice.data}, {counted(data['train']['words'], 'word')} to learn from and "
        f"{data['test']['words']:,} to test, {known:,} of them known; "
        f"{counted(choice.epochs, 'epoch')}; context 4, vectors of 200 numbers, batches of 128, "
        "Adagrad; trees of 65 children and depth 3. The unknown word is one of the words.",
        "Time of one thread: of a training batch by the clock, reassignments included, of a test "
        "batch of the processor. A test batch is 128 words, all of whose losses are computed.",
    ]
    return Table("Trees of words and flat softmaxes", [*MEASURED, *DEPTH], rows, notes)


TABLES = {
    2: PaperTable(
        ("brown", "wikitext-2", "gutenberg", "pydoc"),
        lambda choice: f"table2-{choice.data}",
        members,
        make,
    )
}
