"""The figures of the thesis on routed networks, with our measurements in tables.

The thesis draws curves without printing numbers, so the paper's columns are empty.

Reference:
    D. Nepp, On the State of ANN Computation Graphs and the potential of Conditional Neural
    Networks, 2021, Figures 17 to 20: 200 steps with batches of 32 of 1,500 sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from structnet.checks import check_integer
from structnet.naru.wiring import DIMS, SIZES
from structnet.recipes.naru.settings import NaruRunSettings
from structnet.recipes.paper import Member, Members, PaperTable, Row, Table, values_in
from structnet.recipes.recipe import Place, settings_from, values_of

if TYPE_CHECKING:
    from structnet.recipes.run import Run

RATES = {"naru": 3e-4, "gru": 1e-3}  # the thesis's, and one at which the baseline is as good
STEPS = (1, 5, 10, 20)  # whose utilisation is in the table


@dataclass(frozen=True)
class Choice:
    """Trains the thesis's network as described there, and draws its figures.

      --figure 17   the loss of the network before and after training, of the mean vector, and of
                    a GRU with as many multiplications for each word
      --figure 18   network utilisation, word by word
      --figure 19   route changes, epoch by epoch
      --figure 20   routing bias

    The figures share their runs, which learn from sentences of at most 25 words; 5 epochs of 1,500
    sentences are 235 steps (the thesis: 200).

    Args:
        data: name of the text
        epochs: passes through the text
        train_size: number of training sentences, drawn at random
        longest: largest number of words in a sentence
    """

    data: Literal["brown", "wikitext-2", "pydoc"] = "brown"
    epochs: int = 5
    train_size: int = 1500
    longest: int = 25
    place: Place = field(default_factory=Place)

    def __post_init__(self) -> None:
        check_integer("epochs", self.epochs, 1)
        self.settings("naru", 0)

    def settings(self, network: str, seed: int) -> NaruRunSettings:
        """The settings of one run."""
        own: dict[str, Any] = {"network": network, "seed": seed}
        own |= {"sizes": SIZES, "dims": DIMS[1:-1], "validation_size": 500, "test_size": 500}
        own |= {"patience": None, "loss": "squared_error", "decoding": "nearest"}
        own |= {"memory": None, "balance": 0.0, "learning_rate": RATES[network]}
        return settings_from(NaruRunSettings, values_of(self) | own).resolved()


def members(networks: Sequence[str], fewest: int, choice: Choice, seed: int) -> list[Member]:
    """The runs of a figure with one seed.

    Args:
        networks: "naru", "gru" or both.
        fewest: smallest number of epochs that the figure needs.
        choice: the user's choice.
        seed: seed of the runs.

    Raises:
        ValueError: there are fewer epochs.
    """
    if choice.epochs < fewest:
        raise ValueError(
            f"--epochs must be at least {fewest} for a figure that compares epochs; got "
            f"{choice.epochs}"
        )
    return [
        Member(name, f"{choice.data}-{name}-{seed}", choice.settings(name, seed))
        for name in networks
    ]


def loss_table(choice: Choice, runs: Members) -> Table:
    """Figure 17: the losses, compared with those of simpler models."""
    naru, gru = runs["naru"], runs["gru"]

    def row(name: str, runs: Sequence[Run], when: str) -> Row:
        sources = {"loss": f"details.{when}.vector_loss", "accuracy": f"details.{when}.accuracy"}
        return Row(name, {}, values_in(runs, sources))

    rows = [
        Row("mean vector", {}, values_in(naru, {"loss": "details.mean_vector_loss"})),
        row("NARU, untrained", naru, "untrained"),
        row("NARU", naru, "trained"),
        row("GRU", gru, "trained"),
    ]
    sizes = [run.ended["details"] for run in (naru[0], gru[0])]
    notes = [
        *what_was_run(choice, naru[0]),
        f"Multiplications a word: NARU {sizes[0]['multiply_adds']:,}, GRU "
        f"{sizes[1]['multiply_adds']:,}. Parameters: {sizes[0]['parameters']:,} and "
        f"{sizes[1]['parameters']:,}.",
        "Accuracy: share of the next words that the nearest vector hits, unknown words as misses.",
    ]
    drawn = _picture(naru, "history", "figure17-")
    return Table("Figure 17: loss", ("loss", "accuracy"), rows, notes, ("accuracy",), drawn)


def utilisation_table(choice: Choice, runs: Members) -> Table:
    """Figure 18: the share of the bundles that a sentence has visited after some steps."""
    rows = []
    for name in ("untrained", "trained"):
        curves = [run.ended["details"][name]["utilisation"] for run in runs["naru"]]
        ours = {f"step {k}": [curve[k - 1] for curve in curves if len(curve) >= k] for k in STEPS}
        rows.append(Row(f"NARU, {name}", {}, ours))
    quantities = [q for q in rows[0].ours if rows[0].ours[q]]
    notes = [
        *what_was_run(choice, runs["naru"][0]),
        "Of the bundles in capsules that have several; the mean of the test sentences that have "
        "not ended.",
    ]
    drawn = _picture(runs["naru"], "utilisation")
    return Table("Figure 18: network utilisation", quantities, rows, notes, quantities, drawn)


def changes_table(choice: Choice, runs: Members) -> Table:
    """Figure 19: the share of the elections that changed in an epoch."""
    histories = [run.history["route_changes"] for run in runs["naru"]]
    epochs = sorted({2, (choice.epochs + 2) // 2, choice.epochs} & set(range(2, choice.epochs + 1)))
    ours = {f"epoch {k}": [each[k - 1] for each in histories] for k in epochs}
    notes = [
        *what_was_run(choice, runs["naru"][0]),
        "The share of all elections of 100 training sentences that ended otherwise than an epoch "
        "before.",
    ]
    drawn = _picture(runs["naru"], "route_changes")
    return Table(
        "Figure 19: route changes", list(ours), [Row("NARU", {}, ours)], notes, list(ours), drawn
    )


def bias_table(choice: Choice, runs: Members) -> Table:
    """Figure 20: the deviation of visits from evenly distributed ones."""
    rows = []
    for name in ("untrained", "trained"):
        details = [run.ended["details"][name] for run in runs["naru"]]
        ours = {
            "bias": [each["bias"] for each in details],
            "bias / random": [each["normalised_bias"] for each in details],
            "dead bundles": [float(len(each["dead_bundles"])) for each in details],
        }
        rows.append(Row(f"NARU, {name}", {}, ours))
    notes = [
        *what_was_run(choice, runs["naru"][0]),
        "Bias: root mean square deviation of the visits to a bundle from even ones, on the test "
        "sentences; beside it over what uniform random choices are expected to have.",
        "Dead bundles: never visited by a test sentence.",
    ]
    drawn = _picture(runs["naru"], "bias")
    return Table("Figure 20: routing bias", list(rows[0].ours), rows, notes, (), drawn)


TABLES: Mapping[int, PaperTable] = {
    number: PaperTable(
        NaruRunSettings.DATA_SETS,
        f"figure{number}-{{0.data}}".format,
        partial(members, networks, fewest),
        make,
    )
    for number, networks, fewest, make in (
        (17, ("naru", "gru"), 1, loss_table),
        (18, ("naru",), 1, utilisation_table),
        (19, ("naru",), 2, changes_table),
        (20, ("naru",), 1, bias_table),
    )
}


def what_was_run(choice: Choice, run: Run) -> list[str]:
    """Notes on data, sizes and times."""
    result, values = run.ended, run.config["settings"]
    sizes = result["sizes"]
    return [
        f"Data: {choice.data}, sentences of at most {choice.longest} words: {sizes['train']:,} to "
        f"learn from, {sizes['validation']:,} say which epoch is best, {sizes['test']:,} to test. "
        f"{result['details']['known_words']:,} known words; vectors of {values['vector_size']} "
        "numbers, learned from the training sentences.",
        f"{choice.epochs} epochs, batches of {values['batch_size']}, Adam at "
        f"{values['learning_rate']:g}; {result['seconds'] / 60:.1f} minutes of NARU's training. "
        "The thesis draws curves and prints no numbers.",
    ]


def _picture(runs: Sequence[Run], name: str, figure: str = "") -> dict[str, Any]:
    """One picture of the first run, drawn as in the run's folder."""

    def draw() -> Any:
        from structnet.recipes.naru import pictures

        return pictures.of_run(runs[0])[f"{name}.png"]()

    return {f"{figure}{runs[0].folder.name}-{name}.png": draw}
