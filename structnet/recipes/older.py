"""Runs of before: their ``config.json`` as it is written now."""

from __future__ import annotations

from typing import Any

TREES = ("listops", "lrt")
RENAMED = {"preset": "primitives", "problem": "task"}


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
    if "model" in config or not isinstance(settings, dict) or "task" not in settings:
        return config
    settings = dict(settings)
    task = settings.pop("task")
    if task in TREES:
        also = {name: config[name] for name in ("vocabulary", "classes") if name in config}
        data = {**config.get("data", {}), **also}
        return {"model": "tree-lstm", "settings": {"data": task, **settings}, "data": data}
    renamed = {RENAMED.get(name, name): value for name, value in settings.items()}
    for name in ("routers", "transformers"):
        renamed[name] = not renamed.pop(f"no_{name}", False)
    return {"model": task, "settings": renamed, "data": config.get("data", {})}
