"""Runs on a table of numbers, text, true and false, with gaps and a left-out column, by family."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from commands import SMALL, ran, refused

from structnet import NeuralTreeClassifier, SoftmaxTreeClassifier
from structnet.datasets import load
from structnet.recipes.arrays import drawn
from structnet.recipes.predictions import predict_with
from structnet.recipes.run import Run
from structnet.training import CheckpointError

NAMES = ["price", "city", "when", "flag", "rooms", "kind"]
WORTH = {"Paris": 4.0, "Lyon": 0.0, "": -4.0}
FAMILIES = {
    "neural-tree": SMALL,
    "softmax-tree": ["--depth", 0, "--decision-penalty", 1e-3, "--leaf-penalty", 1e-3],
    "label-tree": ["--epochs", 5],
}


class Homes(NamedTuple):
    model: str
    run: Path
    rows: list[list[str]]


def rows_of(number: int, seed: int) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(number):
        city, flag, rooms = str(rng.choice(list(WORTH))), rng.random() < 0.5, rng.integers(1, 6)
        kind = "dear" if WORTH[city] + 2 * flag + rooms > 4 else "cheap"
        price = f"{rng.normal():.3f}" if rng.random() < 0.9 else ""
        rows.append([price, city, f"{i % 12 + 1:02d}/05/2024", str(flag), str(rooms), kind])
    return rows


def write(path: Path, rows: list[list[str]], names: list[str] | None = NAMES) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(([names] if names else []) + rows)
    return path


@pytest.fixture(scope="module", params=FAMILIES)
def homes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Homes:
    folder, rows = tmp_path_factory.mktemp(request.param), rows_of(400, 1)
    more = [[*row[:-1], kind] for row, kind in zip(rows_of(2, 4), ("", "NA"), strict=True)]
    data = write(folder / "homes.csv", rows + more)
    done = ran(
        "train", request.param, "--data", data, "--out", folder / "run", *FAMILIES[request.param]
    )
    assert "text, one number for each value: 'city' (2 values)" in done.out
    assert "left out: 'when' (dates, days and months in doubt); write" in done.out
    assert "left out: 2 rows without a target ('NA')\n" in done.out
    assert "target: 'kind' (the last column; --target names another)\n" in done.out
    assert done.json["test"]["accuracy"] > 0.85
    return Homes(request.param, folder / "run", rows)


def answers(homes: Homes, *inputs: object) -> list[dict]:
    return ran("predict", homes.run, *inputs).json["answers"]


def test_new_rows_are_measured_as_the_own_ones(homes: Homes, tmp_path: Path) -> None:
    own = ran("evaluate", homes.run).json["test"]["accuracy"]
    assert own == json.loads((homes.run / "result.json").read_text())["test"]["accuracy"]
    new = write(tmp_path / "new.csv", rows_of(300, 2))
    assert ran("evaluate", homes.run, "--data", new).json["test"]["accuracy"] > 0.85


def test_rows_without_a_target_are_left_out_and_counted(homes: Homes, tmp_path: Path) -> None:
    rows = rows_of(60, 5)
    whole = ran("evaluate", homes.run, "--data", write(tmp_path / "whole.csv", rows))
    for row in rows_of(20, 6):
        rows.insert(10, [*row[:-1], ""])
    path = write(tmp_path / "some.csv", rows)
    some = ran("evaluate", homes.run, "--data", path)
    assert f"left out: 20 rows without a target, in {path}\n" in some.out
    assert some.json["sizes"] == whole.json["sizes"] == {"test": 60}
    assert some.json["test"]["accuracy"] == whole.json["test"]["accuracy"]
    assert len(answers(homes, path)) == 80


def test_rows_of_unknown_classes_count_as_missed(homes: Homes, tmp_path: Path) -> None:
    rows = rows_of(60, 5)
    whole = ran("evaluate", homes.run, "--data", write(tmp_path / "whole.csv", rows))
    other = [[*row[:-1], "free"] for row in rows_of(20, 6)]
    path = write(tmp_path / "some.csv", rows + other)
    some = ran("evaluate", homes.run, "--data", path)
    assert f"{path}: 20 rows of classes that the tree does not know (free) count as " in some.out
    expected = pytest.approx(whole.json["test"]["accuracy"] * 60 / 80)
    assert some.json["test"]["accuracy"] == expected
    err = refused("evaluate", homes.run, "--data", write(tmp_path / "none.csv", other))
    assert "none.csv: the tree has no class free; expected one of cheap, dear\n" in err


def test_every_family_is_tested_on_the_same_rows(homes: Homes) -> None:
    data = Run(homes.run).config["data"]
    assert (data["test"], data["split"]) == (80, "20% of every class for testing, seed 0")
    assert data["classes"] == ["cheap", "dear"] and data["targets"] == ["kind"]


def test_all_is_told_that_adds_up_to_an_answer(homes: Homes) -> None:
    if homes.model == "label-tree":
        return
    lines = ran("predict", homes.run, 3).out.splitlines()
    assert lines[0] == "test example 3"
    whole, *parts = (line.split(": ") for line in lines if line.startswith("  "))
    assert whole[0].startswith("  log-odds of ") and parts[0][0] == "  an average row"
    total, added = float(whole[1].removesuffix(", of which")), [float(part[1]) for part in parts]
    rounding = 5e-4 * sum(map(abs, [total, *added]))  # each has four digits
    assert sum(added) == pytest.approx(total, abs=rounding)


def test_columns_are_found_by_name_and_may_be_fewer(homes: Homes, tmp_path: Path) -> None:
    rows = rows_of(20, 3)
    whole = answers(homes, write(tmp_path / "whole.csv", rows))
    order = [3, 4, 0, 1]  # without the dates, which are left out, and without the target
    some = [[row[i] for i in order] for row in rows]
    assert answers(homes, write(tmp_path / "some.csv", some, [NAMES[i] for i in order])) == whole
    err = refused("predict", homes.run, write(tmp_path / "c.csv", [["1"]], ["price"]))
    assert "has no column 'city', a feature of the tree" in err


def test_typed_rows_need_no_number_and_no_known_value(homes: Homes) -> None:
    known, unknown, gaps = answers(
        homes, "1,Paris,01/05/2024,True,3", ",Rome,,FALSE,?", ",,2030-01-01,,"
    )
    assert answers(homes, ",Rome,,false,") == [unknown] != [known]
    assert answers(homes, ",,,,") == [gaps]


def test_a_row_is_no_header_and_a_header_is_no_row(homes: Homes, tmp_path: Path) -> None:
    typed = answers(homes, ",price,,True,3", "7,Lyon,,True,3")  # a value like a column's name
    assert len(typed) == 2
    (named,) = answers(homes, ",".join(NAMES[:5]), "7,Lyon,,True,3")
    assert named == answers(homes, "7,Lyon,,True,3")[0]
    rows = [row[:5] for row in rows_of(2, 6)]
    for names in (["PRICE", "CITY", "WHEN", "FLAG", "ROOMS"], ["price", "town", *NAMES[2:5]], None):
        err = refused("predict", homes.run, write(tmp_path / "new.csv", rows, names))
        assert re.search(
            r"new\.csv has no column '\w+', a feature of the tree; expected (price, )?city, ", err
        )
        got = ", ".join(rows[0] if names is None else names)
        assert f"city, flag, rooms; got {got!r}\n" in err
    err = refused("predict", homes.run, "town,flag", "Lyon,True")
    assert "the input has 2 columns; the tree takes 5 features, in the order of its data: " in err
    needed = "price, " * (homes.model != "neural-tree") + "city, flag, rooms"  # which reads these
    expected = f"price, city, when, flag, rooms; or a first row with the names {needed}"
    assert err.endswith(f"{expected}; got 'town, flag'\n")


def test_predictions_are_written_with_the_probability_of_every_class(
    homes: Homes, tmp_path: Path
) -> None:
    new, out = write(tmp_path / "new.csv", rows_of(20, 5)), tmp_path / "sub" / "out.csv"
    done = ran("predict", homes.run, new, "--out", out)
    assert done.out.startswith(f"predictions: 20, in {out}\n")
    assert done.json["rows"] == 20 and "answers" not in done.json
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["input"] for row in rows] == [str(number) for number in range(1, 21)]
    for row, answer in zip(rows, answers(homes, new), strict=True):
        shares = {name: float(row[f"probability of {name}"]) for name in ("cheap", "dear")}
        assert sum(shares.values()) == pytest.approx(1, abs=1e-5)
        best = max(shares, key=shares.__getitem__)
        assert row["class"] == best == answer.get("class", best)
        assert shares == pytest.approx(answer.get("labels", shares), abs=1e-6)
        assert float(row["probability"]) == pytest.approx(shares[best], abs=1e-6)


def test_python_gets_what_the_file_has(homes: Homes, tmp_path: Path) -> None:
    new, out = write(tmp_path / "new.csv", rows_of(20, 5)), tmp_path / "out.csv"
    ran("predict", homes.run, new, "--out", out)
    found = predict_with(homes.run, new)
    with out.open(newline="") as file:
        reader = csv.DictReader(file)
        assert list(reader.fieldnames or ())[-2:] == [
            f"probability of {k}" for k in ("cheap", "dear")
        ]
        for row, answer in zip(reader, found, strict=True):
            assert row.pop("input") and row == {name: str(value) for name, value in answer.items()}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # these are an array
def test_the_model_is_an_estimator_that_takes_rows_as_they_were_read(homes: Homes) -> None:
    file = homes.run / "model.safetensors"
    kinds = {"neural-tree": NeuralTreeClassifier, "softmax-tree": SoftmaxTreeClassifier}
    if homes.model not in kinds:
        with pytest.raises(
            CheckpointError, match=r"predict_with\('.*', INPUT\), which predicts with"
        ):
            NeuralTreeClassifier.load(file)
        return
    data = load(Run(homes.run).config["settings"]["data"], bend=True)
    read: Any = data.x_test_read
    prob = kinds[homes.model].load(file).predict_proba(read[drawn(len(read), None, 0, "rows")])
    said = answers(homes, *map(str, range(9)))
    assert prob.max(1)[:9] == pytest.approx([each["probability"] for each in said], abs=1e-5)


def test_pictures_are_drawn_again(homes: Homes, tmp_path: Path) -> None:
    done = ran("plot", homes.run, "--out", tmp_path)
    assert (tmp_path / "tree.png").exists() and done.json["tree"]


def test_a_run_of_another_version_is_refused_in_one_sentence(homes: Homes, tmp_path: Path) -> None:
    run = shutil.copytree(homes.run, tmp_path / "run")
    config = json.loads((run / "config.json").read_text())
    for form in (0, None):
        (run / "config.json").write_text(json.dumps(config | {"form": form}))
        for words in (("evaluate", run), ("predict", run, "1"), ("train", "--resume", run)):
            said = f"{run} was made by another version of structnet; train it again\n"
            assert refused(*words) == f"structnet {words[0]}: error: {said}"
