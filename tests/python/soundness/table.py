"""The table in docs/soundness.md: what can change between two calls, and what catches it.

`python tests/python/soundness/table.py` writes it; the tests hold it to what they see.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

FILE = Path(__file__).parents[3] / "docs" / "soundness.md"

#: What a guard's failure says, and the guard's kind. The first that matches counts.
KINDS = [
    (r"^tensor '|^expected type of '", "TENSOR_MATCH"),
    (r"^GLOBAL_STATE changed", "GLOBAL_STATE"),
    (r"^Duplicate tensors", "NO_TENSOR_ALIASING"),
    (r"has no value that can be read", "a path that ends"),
    (r"^___guarded_code\.valid", "an object that died"),
    (r"^utils_device", "DEFAULT_DEVICE"),
    (r"^___check_torch_function_mode_stack", "TORCH_FUNCTION_MODE_STACK"),
    (r"changed\. expected", "CALL_MATCH"),
    (r"^not issubclass", "NOT_SUBCLASS"),
    (r"^___exactly\(___set_items\(", "SET_ITEMS"),
    (r"^(___exactly\()?___dict_keys", "DICT_KEYS"),
    (r"^not ___dict_contains\('[^']*', [^ ]*\.__dict__\)", "NOT_PRESENT_IN_GENERIC_DICT"),
    (r"^___dict_contains\('[^']*', [^ ]*\.__dict__\)", "PRESENT_IN_GENERIC_DICT"),
    (r"^(not )?___dict_contains", "DICT_CONTAINS"),
    (r"___mro_lookup\(.*\) is ___missing|^___check_obj_id\(___mro_lookup", "MRO_ATTR"),
    (r"^hasattr\(", "HASATTR"),
    (r"^len\(", "LENGTH_CHECK"),
    (r"^___normalize_range_iter", "RANGE_ITERATOR_MATCH"),
    (r"^___tuple_iterator_len", "TUPLE_ITERATOR_LEN"),
    (r"^check_overlapping|overlap", "STORAGE_OVERLAPPING"),
    (r"^___check_type_id", "TYPE_MATCH"),
    (r"^___check_obj_id", "ID_MATCH"),
    (r"^___same_code|___check_code|with <code|expected a function with", "CLOSURE_MATCH"),
    (r" is not None$|is not None\.", "NOT_NONE"),
    (r"^[^=]* is (None|True|False)", "EQUALS_MATCH"),
    (r"^[^=]* is not [A-Za-z]", "NOT_ALIASING"),
    (r"^[^=]* is [A-Za-z_]", "OBJECT_ALIASING"),
    (r"^(?!.*expected).* (==|!=|<=?|>=?) ", "SHAPE_ENV"),
    (r"==|__math_isnan|___exactly", "EQUALS_MATCH"),
]
EACH_CALL = "read on each call"
PLAIN = "eager mode"


def kinds(logs: list[tuple[str, str]]) -> set[str]:
    """The kinds of guards that failed in a row's run, or why none had to."""
    found = set()
    for kind, text in logs:
        if kind != "recompiles":
            continue
        # The entry that was used last: what differs from it has changed since.
        reasons = re.findall(r"^\s*- [\d/]+: (.*)$", text, re.MULTILINE)
        found |= {_kind(reason) for reason in reasons[:1]}
    if any(kind == "graph_breaks" for kind, _ in logs):
        found.add(PLAIN)
    return found or {EACH_CALL}


def _kind(reason: str) -> str:
    reason = reason.split("  # ")[0]
    return next((kind for pattern, kind in KINDS if re.search(pattern, reason)), f"?{reason}")


def read() -> dict[str, set[str]]:
    """The rows of the document: their names, and what catches them."""
    rows: dict[str, set[str]] = {}
    group = ""
    for line in FILE.read_text().splitlines():
        if line.startswith("### "):
            group = line[4:]
        elif line.startswith("| ") and group and not line.startswith(("| What", "|---")):
            what, caught = (part.strip() for part in line.strip("|").split(" | "))
            rows[f"{group}: {what}"] = set(caught.split(", "))
    return rows


def write() -> None:
    """Run every row and write the tables anew; what stands before them stays."""
    from soundness import run

    head = FILE.read_text().split("### ")[0].rstrip()
    parts = [head]
    for group in run.GROUPS:
        parts += ["", f"### {group.name}", "", "| What changes | Caught by |", "|---|---|"]
        for row in group.rows:
            caught = kinds(run.run_row(row))
            print(row.name, caught, flush=True)
            parts.append(f"| {row.what} | {', '.join(sorted(caught))} |")
    FILE.write_text("\n".join([*parts, ""]))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import logging

    import ferrodyn

    logging.getLogger("ferrodyn").setLevel(logging.ERROR)
    with ferrodyn.config.patch(recompile_limit=64, accumulated_recompile_limit=1000):
        write()
