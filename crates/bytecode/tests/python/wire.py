"""Code objects on a pipe: the Python side of the crate's `wire` module."""

import struct
import sys
import types

LOCAL, CELL, FREE = 0x20, 0x40, 0x80


def _number(value):
    return struct.pack("<I", value & 0xFFFFFFFF)


def _bytes(value):
    return _number(len(value)) + value


def _strings(values):
    encoded = [value.encode("utf-8", "surrogatepass") for value in values]
    return _number(len(encoded)) + b"".join(map(_bytes, encoded))


def localsplus(code):
    """Names and kinds of locals, cells and free variables, in the order of the frame's slots."""
    names = []
    while True:
        try:
            names.append(code._varname_from_oparg(len(names)))
        except IndexError:
            break
    kinds = bytearray()
    first_free = len(names) - len(code.co_freevars)
    for i, name in enumerate(names):
        if i >= first_free:
            kinds.append(FREE)
        elif i >= code.co_nlocals:
            kinds.append(CELL)
        else:
            kinds.append(LOCAL | (CELL if name in code.co_cellvars else 0))
    return names, bytes(kinds)


def encode(code, label):
    """A code object as the bytes that `read_code` reads."""
    names, kinds = localsplus(code)
    return b"".join(
        [
            _number(sys.version_info[1]),
            _number(code.co_argcount),
            _number(code.co_posonlyargcount),
            _number(code.co_kwonlyargcount),
            _number(code.co_stacksize),
            _number(code.co_flags),
            _number(code.co_firstlineno),
            _number(len(code.co_consts)),
            _bytes(code.co_code),
            _bytes(code.co_linetable),
            _bytes(code.co_exceptiontable),
            _bytes(kinds),
            _strings(code.co_names),
            _strings(names),
            _bytes(label.encode("utf-8", "surrogatepass")),
        ]
    )


def _read_exact(stream, size):
    data = stream.read(size)
    if len(data) != size:
        raise EOFError("the assembler stopped")
    return data


def _read_number(stream):
    return struct.unpack("<I", _read_exact(stream, 4))[0]


def _read_bytes(stream):
    return _read_exact(stream, _read_number(stream))


def read_answer(stream):
    """What `write_answer` wrote, as arguments for `code.replace`."""
    if _read_number(stream) == 0:
        raise ValueError(_read_bytes(stream).decode())
    return {
        "co_stacksize": _read_number(stream),
        "co_code": _read_bytes(stream),
        "co_linetable": _read_bytes(stream),
        "co_exceptiontable": _read_bytes(stream),
    }


def walk(code):
    """A code object and all that are nested in it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from walk(const)
