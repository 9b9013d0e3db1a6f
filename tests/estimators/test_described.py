from dataclasses import dataclass

import pytest

from structnet.estimators.described import described_by


@dataclass
class Settings:
    """Settings.

    Args:
        size: number of things,
            of any kind.
        first, last: the ends.
        seed: not a parameter of the estimator.
    """

    size: int = 1
    first: int = 0
    last: int = 0
    seed: int = 0


class Base:
    """The base.

    Args:
        size: never seen, as the estimator describes it itself.
        folder: place for files.
    """


def test_entries_are_in_the_order_of_the_parameters_and_of_the_nearest_class() -> None:
    @described_by(Settings)
    class Estimator(Base):
        """An estimator.

        Args:
            size: number of its things.

        Raises:
            ValueError: it does.
        """

        def __init__(self, last: int, first: int, folder: str, size: int) -> None: ...

    assert Estimator.__doc__ == (
        "An estimator.\n\nArgs:\n    first, last: the ends.\n    folder: place for files.\n"
        "    size: number of its things.\n\nRaises:\n    ValueError: it does.\n"
    )


def test_a_docstring_without_sections_gets_one() -> None:
    @described_by(Settings)
    class Estimator:
        """An estimator."""

        def __init__(self, size: int) -> None: ...

    assert Estimator.__doc__ == (
        "An estimator.\n\nArgs:\n    size: number of things,\n        of any kind.\n\n"
    )


def test_a_parameter_that_nobody_describes_is_refused() -> None:
    def __init__(self, size: int, colour: str, shape: str) -> None: ...

    Estimator = type("Estimator", (), {"__doc__": "One.", "__init__": __init__})
    with pytest.raises(TypeError, match=r"^No docstring describes colour, shape of Estimator\.$"):
        described_by(Settings)(Estimator)


def test_without_docstrings_nothing_is_done() -> None:
    Estimator = type("Estimator", (), {"__doc__": None})
    assert described_by(Settings)(Estimator).__doc__ is None
