"""Records as JSON files: no pickle, nothing run, every number to its last bit.

A record is an object with its class under "record" and its fields by name. An array is a list of numbers (JSON's
shortest form that reads back the same) or, where it is long or holds infinities, its bytes in base 64.
"""

import base64
import codecs
import dataclasses
import json
import math
import os
from collections.abc import Mapping
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from .arrays import Array
from .files import replaced
from .records import RECORDS, Facts, array_fields

__all__ = ["read_record", "write_record"]

FORMAT = "infocal calibrator"
VERSION = 1
SHORT = 4096  # elements of the longest array kept as a list
DEEPEST = 16  # records inside one another; those that a fit returns are a quarter of it
HEAD = 4096  # bytes that tell text from anything else before the whole of a large file is read


def write_record(record: Any, path: str | os.PathLike[str]) -> None:
    """Write a record to a file, whole or not at all."""
    content = {"format": FORMAT, "version": VERSION} | _encode(record)
    with replaced(path) as file:
        file.write(json.dumps(content, allow_nan=False, indent=1).encode())


def read_record(path: str | os.PathLike[str]) -> Any:
    """The record that was written to a file; a `ValueError` says what is wrong with any other file."""
    try:
        return _checked(json.loads(_text(path), parse_constant=_refuse_constant, parse_float=_finite))
    except RecursionError:
        raise ValueError(f"{path}: expected a saved calibrator, got a file nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: expected a saved calibrator, got a file that is not text") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: expected a saved calibrator, got malformed JSON ({error})") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _text(path: str | os.PathLike[str]) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with open(path, "rb") as file:
        head = decoder.decode(file.read(HEAD))
        return head + decoder.decode(file.read(), final=True)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"expected finite numbers, got {name}")


def _finite(text: str) -> float:
    """JSON allows 1e999, which is no number that a fit returns."""
    value = float(text)
    if not math.isfinite(value):
        _refuse_constant(f"{text:.20}")
    return value


def _checked(content: Any) -> Any:
    if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
        raise ValueError("expected a saved calibrator, got another kind of JSON")
    version = content.pop("version", None)
    if version != VERSION:
        raise ValueError(
            f"expected version {VERSION} of the format, got {version!r}; read it with the infocal it is of"
        )
    return _decode(content, DEEPEST)


# -- records -------------------------------------------------------------------------------------------------------


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _encode(item) for name, item in value.items()}
    if not dataclasses.is_dataclass(value):
        return value
    fields = {field.name: _encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return {"record": type(value).__name__} | fields


def _decode(content: Any, deepest: int) -> Any:
    """The record of an object, with at most so many inside one another."""
    if not deepest:
        raise ValueError("expected a saved calibrator, got records nested too deeply")
    name = content.pop("record", None) if isinstance(content, dict) else None
    if not isinstance(name, str) or name not in RECORDS:
        raise ValueError(f"expected the name of a record, got {name!r}")
    cls = RECORDS[name]
    names = {field.name for field in dataclasses.fields(cls)}
    if names != content.keys():
        raise ValueError(f"{name}: expected the fields {sorted(names)}, got {sorted(content)}")
    hints, arrays = get_type_hints(cls), array_fields(cls)
    values = {
        key: _decode_array(f"{name}.{key}", content[key], *arrays[key])
        if key in arrays
        else _decode_field(f"{name}.{key}", content[key], hints[key], deepest - 1)
        for key in names
    }
    try:
        return cls(**values)
    except (TypeError, IndexError, AttributeError) as error:  # of a check that met what no fit returns
        raise ValueError(f"{name}: the fields do not fit together ({error})") from None


def _decode_field(name: str, content: Any, hint: Any, deepest: int) -> Any:
    """The value of a field that is no array: a plain value of its type, facts, a record, or a tuple of records."""
    if hint is Facts and isinstance(content, dict):
        return Facts({key: _settled(value) for key, value in content.items()})
    if get_origin(hint) is tuple and isinstance(content, list):
        return tuple(_decode_field(name, item, get_args(hint)[0], deepest) for item in content)
    if hint in (str, int, float, bool):
        if type(content) is not hint:
            raise ValueError(f"{name}: expected {hint.__name__}, got {content!r:.40}")
        return content
    if content is None and type(None) in get_args(hint):
        return None
    return _decode(content, deepest)


def _settled(content: Any) -> Any:
    """JSON with tuples for its lists, as facts hold them."""
    if isinstance(content, dict):
        return {name: _settled(value) for name, value in content.items()}
    return tuple(_settled(item) for item in content) if isinstance(content, list) else content


# -- arrays --------------------------------------------------------------------------------------------------------


def _encode_array(array: Array) -> Any:
    if array.size <= SHORT and np.isfinite(array).all():
        return array.tolist()
    data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return {"shape": list(array.shape), "base64": base64.b64encode(data).decode()}


def _decode_array(name: str, content: Any, dtype: type, axes: int) -> Array:
    try:
        if isinstance(content, dict):
            data = base64.b64decode(content["base64"], validate=True)
            return np.frombuffer(data, dtype=np.dtype(dtype).newbyteorder("<")).reshape(content["shape"])
        array = np.array(content, dtype=np.float64 if dtype is np.float64 else None)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: expected an array of numbers, got something else") from None
    kinds = "f" if dtype is np.float64 else "i"
    if array.size and (array.dtype.kind not in kinds or array.ndim != axes):
        raise ValueError(f"{name}: expected an array of {axes} axes of numbers, got another")
    return array.reshape(array.shape if array.size else (0,) * axes)
