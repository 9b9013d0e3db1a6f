"""Tables that are not of numbers: text, dates, dicts, rows with named fields."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
from scipy.sparse import issparse

# Those of pandas, too.
DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
STEPS: dict[type, tuple[str, str]] = {  # of a pipeline, by what stands in place of a row
    str: ("texts", "CountVectorizer()"),
    dict: ("dicts", "DictVectorizer()"),
    np.void: ("rows with named fields", "FunctionTransformer(structured_to_unstructured)"),
}


def check_numeric(X: Any) -> list | None:
    """Refuses what is no number, and says how to turn it into numbers; returns the columns' names.

    Args:
        X: samples as the user gave them.

    Raises:
        ValueError: X contains text or dates, or its rows are dicts or have named fields.
    """
    names = None if getattr(X, "columns", None) is None else list(X.columns)  # of a data frame
    try:
        values = np.empty(0) if issparse(X) else np.asarray(X)
    except ValueError:  # rows of different lengths, which another check reports
        return names
    for kind, (what, step) in STEPS.items():
        if values.ndim == 1 and any(isinstance(value, kind) for value in values):
            raise ValueError(
                f"Input X is a list of {what}; expected rows of numbers: put {step} before it in a "
                "pipeline"
            )
    if values.ndim != 2 or values.dtype.kind not in "OUSMm":
        return names
    for column, each in enumerate(values.T):
        place = f"{column} (counted from 0)" if names is None else repr(names[column])
        for value in each:
            if isinstance(value, str) and not _number(value):
                raise ValueError(
                    f"Input X contains text: {value!r} in column {place}; expected numbers: put a "
                    "ColumnTransformer with OneHotEncoder(handle_unknown='ignore') for such "
                    "columns before it in a pipeline"
                )
            if isinstance(value, DATES):
                raise ValueError(
                    f"Input X contains dates: {value} in column {place}; expected numbers, such as "
                    "the days since the first, the month or the day of the week"
                )
    return names


def _number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
