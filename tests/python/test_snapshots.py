"""snapshots.py: the files of pinned texts, and the form of the texts."""

from __future__ import annotations

import random

import pytest
import snapshots
from snapshots import PYTHONS, Snapshot

pytestmark = pytest.mark.own

NEWEST, *_, MIDDLE, OLDEST = PYTHONS


@pytest.fixture
def pinned(tmp_path):
    return Snapshot(tmp_path, "topic/name")


def test_texts_are_pinned_on_all_supported_pythons():
    from ferrodyn import _version

    supported = {f"{major}.{minor}" for major, minor in _version.SUPPORTED_PYTHONS}
    assert set(PYTHONS) == supported


def files(pinned):
    return {path.name: path.read_text() for path in pinned.base.parent.iterdir()}


def test_one_file_where_all_pythons_agree(pinned):
    for python in PYTHONS:
        pinned.bless("a\nb\n", python)
        assert pinned.texts() == dict.fromkeys(PYTHONS, "a\nb\n")
    assert files(pinned) == {"name.txt": "a\nb\n"}


def test_the_second_file_holds_what_differs(pinned):
    pinned.bless("a\nb\nc\n", NEWEST)
    pinned.bless("a\nold\nc\n", MIDDLE)
    pinned.bless("a\nold\nc\nolder\n", OLDEST)
    assert files(pinned) == {
        "name.txt": "a\nb\nc\n",
        "name.diff": f"== {MIDDLE}\n@@ -2 +2 @@\n-b\n+old\n== {OLDEST}\n@@ -3,0 +4 @@\n+older\n",
    }


@pytest.mark.parametrize("python", PYTHONS)
def test_to_bless_one_python_leaves_the_others(pinned, python):
    texts = {each: f"head\n{each}\ntail\n" for each in PYTHONS}
    for each, text in texts.items():
        pinned.bless(text, each)
    pinned.bless("other\n", python)
    assert pinned.texts() == {**texts, python: "other\n"}
    pinned.bless(texts[python], python)
    assert pinned.texts() == texts


def test_the_second_file_goes_with_the_last_difference(pinned):
    pinned.bless("new\n", NEWEST)
    pinned.bless("old\n", OLDEST)
    assert pinned.texts() == {**dict.fromkeys(PYTHONS, "new\n"), OLDEST: "old\n"}
    pinned.bless("new\n", OLDEST)
    assert files(pinned) == {"name.txt": "new\n"}


def test_a_diff_of_another_text_does_not_count(pinned):
    pinned.bless("new\n", NEWEST)
    pinned.bless("old\n", MIDDLE)
    pinned.base.write_text("merged\n")
    assert pinned.texts() == {**dict.fromkeys(PYTHONS, "merged\n"), MIDDLE: None, OLDEST: None}


def test_stale_files(tmp_path):
    for name in ("topic/kept", "topic/gone", "topic/agrees"):
        Snapshot(tmp_path, name).bless("new\n", NEWEST)
        Snapshot(tmp_path, name).bless("old\n", OLDEST)
    agrees = Snapshot(tmp_path, "topic/agrees")
    agrees.diff.write_text(f"== {OLDEST}\n")
    (tmp_path / "py3.11").mkdir()
    (tmp_path / "py3.11/kept.txt").touch()
    stale = snapshots.stale_files(tmp_path, {"topic/kept", "topic/agrees"})
    assert [str(path.relative_to(tmp_path)) for path in stale] == [
        "py3.11/kept.txt",
        "topic/agrees.diff",
        "topic/gone.diff",
        "topic/gone.txt",
    ]


def test_diffs_of_random_texts():
    rng = random.Random(5)
    kinds = ["-\n", "+a\n", "@@ -1 +1 @@\n", "== 3.11\n", "\n", "b"]
    for _ in range(300):
        old, new = ("".join(rng.choices(kinds, k=rng.randrange(9))) for _ in range(2))
        assert snapshots.apply_diff(old, snapshots.make_diff(old, new)) == new, (old, new)


CASE = "tests/cases/topic/name.py"
GRAPH = """TRACED GRAPH
 __compiled_fn_0
opcode         name    target                                   args       kwargs
-------------  ------  ---------------------------------------  ---------  ------------
placeholder    x       x                                        ()         {}
call_function  add     <function add at 0x7f0000000000>         (x, 377)   {'alpha': 2}
output         output  output                                   ((add,),)  {}"""
GRAPHS_TEXT = """== graph
__compiled_fn_0
x = placeholder x ()
add = call_function <function add at 0x...> (x, 377) {'alpha': 2}
output = output output ((add,),)
"""
GUARDS = f"""TREE_GUARD_MANAGER:
+- RootGuardManager
| +- GLOBAL_STATE: ___check_global_state()                 # /tmp/{CASE}:8 in fn
| +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x', framelocals_idx=0)
| | +- TYPE_MATCH: ___check_type_id(L['x'], 94000000000000)  # /tmp/{CASE}:8 in fn
| | +- GuardManager: source=L['x'].a, accessed_by=GetAttrGuardAccessor(a)
| | | +- ID_MATCH: ___check_obj_id(L['x'].a, 94000000000000)  # /tmp/{CASE}:9 in fn
| +- EQUALS_MATCH: L['s'] == '  # a'                       # not there  # {random.__file__}:1 in f

Guard eval latency = 1.05 us

GUARD CODE: ___check_global_state() and ..."""
GUARDS_TEXT = """== guards
GLOBAL_STATE: ___check_global_state()  # line 8 in fn
L['x'] by FrameLocals(key='x', framelocals_idx=0)
  TYPE_MATCH: ___check_type_id($, <id>)
  $.a by GetAttr(a)
    ID_MATCH: ___check_obj_id($, <id>)  # line 9 in fn
EQUALS_MATCH: L['s'] == '  # a'                       # not there  # <lib>/random.py:1 in f
"""
BYTECODE = f"""ORIGINAL BYTECODE fn in /tmp/{CASE}:8
    8       0 @0    Resume 0
    9 >>    1 @2    LoadFast x
            2 @4    Jump -> 1

MODIFIED BYTECODE fn in /tmp/{CASE}:8
    8       0 @0    Resume 0
            1 @2    ForIter -> 3
    9       2 @4    LoadConst 1 (__resume_at_2_1)
      >>    3 @6    ReturnValue
Exceptions:
  1..2 -> 3 [0] lasti

RESUME FUNCTION __resume_at_2_1
    9       0 @0    Resume 0
            1 @2    LoadFast ___stack0
            2 @4    Jump -> 4
    8       3 @6    Resume 0
    9 >>    4 @8    LoadFast x
            5 @10   Jump -> 4

RESUME FUNCTION __resume_at_0_2
    9       0 @0    Resume 0
            1 @2    Jump -> 2
    8 >>    2 @4    Resume 0
    9 >>    3 @6    LoadFast y
            4 @8    Jump -> 3

"""
BYTECODE_TEXT = """== bytecode
fn in line 8
line 8
  Resume 0
L1:
  ForIter -> L3
L2:
line 9
  LoadConst (__resume_at_<offset>_1)
L3:
  ReturnValue
L1..L2 -> L3 [0] lasti
__resume_at_<offset>_1
line 9
  Resume 0
  LoadFast ___stack0
  Jump -> line 9, 1: LoadFast x
__resume_at_<offset>_2
line 9
  Resume 0
  Jump -> L1
L1:
line 8
  Resume 0
L2:
line 9
  LoadFast y
  Jump -> L2
"""


def test_the_text_of_graphs():
    text = snapshots.describe([("graph", GRAPH)], "topic/name", True)
    assert text == GRAPHS_TEXT


def test_the_text_of_guards():
    """A place is there where it differs from the one before; what it shows has to be there."""
    text = snapshots.describe([("guards", GUARDS)], "topic/name", True)
    assert text == GUARDS_TEXT


def test_the_text_of_bytecode():
    """The program's own code is not shown, but where a copy is not equal to it."""
    text = snapshots.describe([("bytecode", BYTECODE)], "topic/name", True)
    assert text == BYTECODE_TEXT
    text = snapshots.describe([("bytecode", BYTECODE)], "topic/name", False)
    assert text == "== bytecode\nfn in line 8\n"
