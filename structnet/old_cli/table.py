"""The table of ``structnet reproduce``: the paper's numbers beside ours."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from structnet.cli.recipes import CLIP_NORM, PAPER, PAPER_RUNS, WARM_UP
from structnet.cli.run import Run
from structnet.cli.words import percent

NAMES = {
    "tucker": "Tucker",
    "sum": "weighted sum",
    "full": "full tensor",
    "child-sum": "child sum",
    "cp": "CP",
    "tensor-train": "tensor train",
}
SAME = ("data", "train_size", "validation_size", "test_size")


def row(task: str, name: str, runs: Sequence[Run]) -> dict[str, Any]:
    """One model: how it was trained and what its runs came to, accuracies in percent."""
    results = [run.result for run in runs]
    settings = runs[0].config["settings"]
    shown = ("hidden_size", "rank", "forget", "optimizer", "epochs", "batch_size", "learning_rate")
    content = {
        "model": name,
        **{key: settings[key] for key in (*shown, "weight_decay")},
        "schedule": "one cycle" if settings["optimizer"] == "adamw" else None,
        "parameters": results[0]["aggregation_parameters"],
        "all_parameters": results[0]["parameters"],
        "paper": PAPER[task].get(name),
        **_over_runs("accuracy", [result["test_accuracy"] for result in results]),
        **{key: results[0][key] for key in SAME},
        "runs": len(runs),
        "seconds": round(statistics.mean(result["seconds"] for result in results), 1),
    }
    over = "accuracy_mean_over_operators"
    if f"test_{over}" in results[0]:
        content |= _over_runs(over, [result[f"test_{over}"] for result in results])
    return content


def _over_runs(name: str, accuracies: Sequence[float]) -> dict[str, float | None]:
    """The mean and, of several runs, the standard deviation of the sample."""
    percents = [100 * accuracy for accuracy in accuracies]
    deviation = round(statistics.stdev(percents), 2) if len(percents) > 1 else None
    return {name: round(statistics.mean(percents), 2), f"{name}_deviation": deviation}


def markdown(task: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """The table, with what one has to know to read it."""
    grouped = any("accuracy_mean_over_operators" in each for each in rows)
    head = ["model", "c", "r", "parameters", "forget gate", "epochs", "batch", "rate"]
    head += ["paper %", "test %", *(["mean over operators %"] if grouped else []), "s a run"]
    lines = [head, ["---"] * len(head), *(_cells(each, grouped) for each in rows)]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"# {task}\n\n{table}\n\n{_caption(task, rows)}\n"


def _cells(each: Mapping[str, Any], grouped: bool) -> list[str]:
    cells = [
        NAMES[each["model"]],
        str(each["hidden_size"]),
        "" if each["rank"] is None else str(each["rank"]),
        f"{each['parameters']:,}",
        "one child" if each["forget"] == "child" else "all children",
        str(each["epochs"]),
        str(each["batch_size"]),
        f"{each['learning_rate']:g}",
        "" if each["paper"] is None else f"{each['paper']:.2f}",
        _with_deviation(each, "accuracy"),
    ]
    if grouped:
        cells.append(_with_deviation(each, "accuracy_mean_over_operators"))
    return [*cells, f"{each['seconds']:,.0f}"]


def _with_deviation(each: Mapping[str, Any], name: str) -> str:
    deviation = each[f"{name}_deviation"]
    return f"{each[name]:.2f}" + ("" if deviation is None else f" ± {deviation:.2f}")


def _caption(task: str, rows: Sequence[Mapping[str, Any]]) -> str:
    first = rows[0]
    runs = "1 run" if first["runs"] == 1 else f"the mean of {first['runs']} runs"
    lines = [
        f"Data: {first['data']}; {first['train_size']:,} examples to train on, "
        f"{first['validation_size']:,} for validation, which chose the epoch, "
        f"{first['test_size']:,} to test.",
        f"Ours: {runs}; AdamW with a one-cycle schedule ({percent(WARM_UP)} of it warm-up; the "
        f"highest rate is given), gradients clipped to norm {CLIP_NORM:g}. The paper's: the mean "
        f"of {PAPER_RUNS} runs; AdaDelta, batches of 25, L2 penalty 0.01.",
        "Parameters: those of one aggregation, as the paper counts them. Forget gate: from that "
        "child alone, or from all children as in the paper's released code. Seconds: of training "
        "and validation.",
    ]
    decays = {NAMES[each["model"]]: each["weight_decay"] for each in rows if each["weight_decay"]}
    if decays:
        lines.append("Weight decay: " + ", ".join(f"{n} {w:g}" for n, w in decays.items()) + ".")
    if task == "lrt":
        lines.append(
            "The test accuracy is that of all test pairs; beside it stands the mean of those of "
            "the numbers of operators, 0 to 12."
        )
    return "\n".join(f"- {line}" for line in lines)


def by_operators(runs: Mapping[str, Sequence[Run]]) -> dict[str, dict[str, list[float]]]:
    """Model -> number of operators -> accuracy, the mean over the runs, and examples."""
    result = {}
    for name, each in runs.items():
        groups = [run.result["test_accuracy_by_operators"] for run in each]
        result[NAMES[name]] = {
            n: [statistics.mean(by[n][0] for by in groups), count]
            for n, (_, count) in groups[0].items()
        }
    return result


def curves(runs: Mapping[str, Sequence[Run]]) -> dict[str, dict[int, float]]:
    """Model -> epoch -> validation accuracy, the mean over the runs that got so far."""
    result = {}
    for name, each in runs.items():
        values: dict[int, list[float]] = {}
        for record in (record for run in each for record in run.history):
            values.setdefault(record["epoch"], []).append(record["validation_accuracy"])
        result[NAMES[name]] = {n: statistics.mean(values[n]) for n in sorted(values)}
    return result
