"""Runs of before: what lies in their folders as it is written now."""

from __future__ import annotations

from typing import Any

TREES = ("listops", "lrt")
RENAMED = {"preset": "primitives", "problem": "task"}
# What runs of a model did before they could be told.
UNSAID = {"neural-tree": {"stop_refinement": False, "finish": False}}


def upgraded(config: dict[str, Any]) -> dict[str, Any]:
    """What a run was told, whichever version wrote it; what is no older form is left as it is.

    Example:
        >>> old = {"settings": {"task": "listops", "rank": 3}, "vocabulary": {}, "classes": []}
        >>> new = upgraded(old | {"data": {"train": 90}})
        >>> new["model"], new["settings"]
        ('tree-lstm', {'data': 'listops', 'rank': 3})
        >>> new["data"]
        {'train': 90, 'vocabulary': {}, 'classes': []}
    """
    settings = config.get("settings")
    if not isinstance(settings, dict):
        return config
    if "model" in config or "task" not in settings:
        unsaid = UNSAID.get(str(config.get("model")), {})
        return {**config, "settings": {**unsaid, **settings}} if unsaid else config
    settings = dict(settings)
    task = settings.pop("task")
    if task in TREES:
        also = {name: config[name] for name in ("vocabulary", "classes") if name in config}
        data = {**config.get("data", {}), **also}
        return {"model": "tree-lstm", "settings": {"data": task, **settings}, "data": data}
    renamed = {RENAMED.get(name, name): value for name, value in settings.items()}
    for name in ("routers", "transformers"):
        renamed[name] = not renamed.pop(f"no_{name}", False)
    settings = {**UNSAID.get(task, {}), **renamed}
    return {"model": task, "settings": settings, "data": config.get("data", {})}


def upgraded_result(result: dict[str, Any]) -> dict[str, Any]:
    """What a run of a Tree-LSTM came to; what is no older form is left as it is.

    Example:
        >>> new = upgraded_result({"task": "lrt", "test_accuracy": 0.5, "test_size": 9})
        >>> new["test"], new["sizes"]
        ({'accuracy': 0.5}, {'test': 9})
    """
    if "test" in result or result.get("task") not in TREES:
        return result
    parts: dict[str, dict[str, Any]] = {"sizes": {}, "test": {}, "details": {}}
    for name, value in result.items():
        if name.endswith("_size"):
            parts["sizes"][name.removesuffix("_size")] = value
        elif name.startswith("test_"):
            parts["test"][name.removeprefix("test_")] = value
        else:
            parts["details"]["origin" if name == "data" else name] = value
    kept = {name: parts["details"].pop(name, None) for name in ("task", "seconds", "run")}
    return {"model": "tree-lstm", "data": kept.pop("task"), **parts, **kept}
