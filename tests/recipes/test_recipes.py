"""What holds for the settings of every recipe."""

from __future__ import annotations

from inspect import signature
from pathlib import Path

import pytest
from commands import call

from structnet.recipes import RECIPES, recipe_for
from structnet.recipes.execution import use
from structnet.recipes.language_model.paper import members
from structnet.recipes.language_model.settings import Choice
from structnet.recipes.protocol import Work
from structnet.recipes.recipe import Place


@pytest.mark.parametrize("name", RECIPES)
def test_a_file_is_looked_for_in_the_folder_of_data(name: str, tmp_path: Path) -> None:
    for ending in RECIPES[name]().Settings.FILES:
        settings = recipe_for(name, f"mine{ending}").Settings(
            f"mine{ending}", place=Place(tmp_path)
        )
        assert settings.resolved().data == str(tmp_path / f"mine{ending}")


@pytest.mark.parametrize("name", RECIPES)
def test_files_of_different_names_have_different_folders(name: str, tmp_path: Path) -> None:
    for ending in RECIPES[name]().Settings.FILES:
        recipe = recipe_for(name, f"my{ending}")
        files = [tmp_path / f"my.{what}{ending}" for what in ("cars", "houses")]
        cars, houses = (recipe.Settings(str(file)).resolved().name for file in files)
        assert cars.replace("cars", "houses") == houses != cars
        assert houses.split("-")[0] == "my.houses"


@pytest.mark.parametrize("data", [None, "my.tsv"])
@pytest.mark.parametrize("name", RECIPES)
def test_the_work_of_a_family_has_all_functions(name: str, data: str | None) -> None:
    work, asked = recipe_for(name, data).work, [each for each in vars(Work) if each[0] != "_"]
    assert asked == ["load", "train", "open", "read", "measure", "answer", "pictures"]
    for each in asked:
        own, expected = signature(getattr(work, each)), signature(getattr(Work, each))
        own.bind(*list(expected.parameters)[1:])  # without self


@pytest.mark.parametrize("name", RECIPES)
def test_a_device_that_a_family_does_not_use_is_neither_offered_nor_taken(name: str) -> None:
    recipe = RECIPES[name]()
    helped = call("train", name, "--help").out
    assert ("--device" in helped) == ("device" not in recipe.refused) and "--threads" in helped
    if "device" in recipe.refused:
        with pytest.raises(ValueError, match=f"{name} is always computed on the CPU; got --device"):
            use(recipe, Place(device="cuda"))


def test_the_table_of_trees_of_words_is_made_as_it_was_published() -> None:
    made = [each.settings.training for each in members(Choice(only="huffman,flat", epochs=1), 3)]
    assert {(told.tree, told.start) for told in made} == {("huffman",) * 2, ("flat", "huffman")}
    for told in made:
        assert (told.learning_rate, told.dropout, told.ngrams, told.seed) == (0.05, 0, False, 3)
