"""The JSON schemas of docs/schemas, ready to validate, and which of them a file is of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

FOLDER = Path(__file__).parent.parent / "docs" / "schemas"
DOCUMENTS: dict[str, Any] = {
    path.name.removesuffix(".schema.json"): json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(FOLDER.glob("*.schema.json"))
}
_KNOWN = Registry().with_resources([(d["$id"], Resource.from_contents(d)) for d in DOCUMENTS.values()])
_VALIDATORS = {name: Draft202012Validator(d, registry=_KNOWN) for name, d in DOCUMENTS.items()}


def faults(name: str, document: Any) -> list[str]:
    """What a schema has against a document, as JSON has it: places and sentences."""
    found = _VALIDATORS[name].iter_errors(json.loads(json.dumps(document)))
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in found]
