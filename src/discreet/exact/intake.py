"""True values of any kind in, as arrays; reports of the same kind back. Numbers are one way in, texts (names) the other.

What is not a number is refused by its kind before anything is converted, so that no library's own error can quote a
value. A missing or masked value is refused by its position.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OutOfRangeError

Array = NDArray[Any]
Kind = Callable[[Array], Any]

_STRANGE = {
    "M": "dates",
    "m": "durations",
    "c": "complex numbers",
    "S": "bytes",
    "U": "texts",
    "T": "texts",
    "V": "records",
}
_TEXT = "UT"  # exact numbers may be written as texts, but a column of texts is a column of something else


def as_array(values: Any) -> tuple[Kind, Array]:
    """The values as an array, and how to give the reports the same kind back."""
    library = type(values).__module__.split(".")[0]
    if isinstance(values, np.ndarray):
        return _from_numpy(values)
    if library == "pyarrow" and hasattr(values, "null_count"):
        return _from_arrow(values)
    if library == "pandas" and hasattr(values, "iloc") and values.ndim == 1:  # a frame may have a column called name
        return _from_pandas(values)
    if (
        library == "polars"
        and hasattr(values, "to_numpy")
        and hasattr(values, "null_count")
        and hasattr(values, "name")
    ):
        return _from_polars(values)
    if isinstance(values, (list, tuple, range)):
        return _from_list(values)
    raise OutOfRangeError(
        f"Cannot read true values from {type(values).__name__}; give a number, a list, a NumPy or Arrow array, "
        "or a Series. Nothing was drawn."
    )


def as_texts(values: Any) -> tuple[Kind, Array]:
    """The same for names: an array of Python's texts. Reports are texts as well, or numbers."""
    library = type(values).__module__.split(".")[0]
    if isinstance(values, np.ndarray):
        listed = values.reshape(-1).tolist() if values.dtype.kind in "UTO" else None
        if isinstance(values, np.ma.MaskedArray):
            _none_missing(np.ma.getmaskarray(values).reshape(-1))
        return partial(_like, values), _texts(listed, "an array of something else").reshape(values.shape)
    if library == "pyarrow" and hasattr(values, "null_count"):
        return _arrow_back(values), _texts(_arrow_texts(values), f"an Arrow array of {_arrow_name(values.type)}")
    if library in ("pandas", "polars") and getattr(values, "ndim", 1) == 1 and hasattr(values, "to_list"):
        missing = values.isna() if library == "pandas" else values.is_null()
        _none_missing(missing.to_numpy() if hasattr(missing, "to_numpy") else missing)
        back = _pandas_back(values) if library == "pandas" else _polars_back(values)
        return back, _texts(list(values.to_list()), f"a Series of {_arrow_name(str(values.dtype))}")
    if isinstance(values, (list, tuple)):
        make = list if isinstance(values, list) else tuple
        return (lambda drawn: make(drawn.tolist())), _texts(values, "a list of something else")
    raise OutOfRangeError(
        f"Cannot read true values from {type(values).__name__}; give a name, a list of names, or a column of texts. "
        "Nothing was drawn."
    )


def _texts(listed: Any, what: str) -> Array:
    """An array of texts; what is missing is named by its position, and so is what is no text."""
    if listed is None:
        raise OutOfRangeError(f"Cannot read names from {what}; give texts. Nothing was drawn.")
    array = np.empty(len(listed), dtype=object)
    for k, value in enumerate(listed):
        if not isinstance(value, str):
            missing = value is None or value is np.ma.masked or (isinstance(value, float) and value != value)
            raise OutOfRangeError(
                f"The true value at position {k} is {'missing' if missing else 'no text'}; leave it out or fill it in "
                "before sampling. Nothing was drawn.",
                position=k,
            )
        array[k] = value
    return array


def _like(values: Array, drawn: Array) -> Array:
    """Names in an array of the kind that the true ones had; numbers as they are."""
    dtype = values.dtype
    made = drawn if drawn.dtype != object or dtype.kind == "O" else drawn.astype("U" if dtype.kind == "U" else dtype)
    return np.ma.asarray(made) if isinstance(values, np.ma.MaskedArray) else made


def _arrow_texts(values: Any) -> list[Any] | None:
    arrow = sys.modules["pyarrow"]
    kind, is_a = _bottom(arrow, values.type), arrow.types
    if not (is_a.is_string(kind) or is_a.is_large_string(kind) or is_a.is_string_view(kind) or is_a.is_null(kind)):
        return None
    plain = _unwrapped(arrow, values)
    try:
        if plain is not None:
            plain.validate(full=True)  # of where each text begins and ends
    except arrow.ArrowException:
        return None
    return None if plain is None else _listed(plain)


def _arrow_back(values: Any) -> Kind:
    """Names as plain texts, in the same width; not in somebody's own dictionary, which may lack one."""
    arrow = sys.modules["pyarrow"]
    kind, chunked = _bottom(arrow, values.type), hasattr(values, "num_chunks")

    def back(drawn: Array) -> Any:
        made = arrow.array(drawn.tolist(), kind) if drawn.dtype == object else arrow.array(drawn)
        return arrow.chunked_array([made]) if chunked else made

    return back


def _pandas_back(values: Any) -> Kind:
    def back(drawn: Array) -> Any:
        made = sys.modules["pandas"].Series(
            drawn, index=getattr(values, "index", None), name=getattr(values, "name", None)
        )
        return (
            made if drawn.dtype != object else made.astype("category" if values.dtype == "category" else values.dtype)
        )

    return back


def _polars_back(values: Any) -> Kind:
    polars = sys.modules["polars"]

    def back(drawn: Array) -> Any:
        made = polars.Series(values.name, drawn.tolist() if drawn.dtype == object else drawn)
        return made if drawn.dtype != object or values.dtype == polars.String else made.cast(polars.Categorical)

    return back


def plain_scalar(value: Any) -> Any:
    """One value as it is, out of the array or NumPy's scalar that holds it."""
    if not isinstance(value, (np.generic, np.ndarray)):
        return value
    _no_strange_type(value.dtype, allowed=_TEXT)
    if isinstance(value, np.ma.MaskedArray):
        _none_missing(np.ma.getmaskarray(value))
    return value.item()


def _refuse_kind(what: str) -> OutOfRangeError:
    return OutOfRangeError(f"Cannot read true values from {what}; give numbers. Nothing was drawn.")


def _no_strange_type(dtype: np.dtype[Any], allowed: str = "") -> None:
    if dtype.kind in _STRANGE and dtype.kind not in allowed:
        raise _refuse_kind(f"an array of {_STRANGE[dtype.kind]}")


def _none_missing(missing: Any) -> None:
    where = np.flatnonzero(np.asarray(missing))
    if len(where):
        raise OutOfRangeError(
            f"The true value at position {where[0]} is missing; leave it out or fill it in before sampling. "
            "Nothing was drawn.",
            position=int(where[0]),
        )


def _objects(values: Iterable[Any]) -> Array:
    """Python's own numbers, as they are: an array of floats would round the large whole ones."""
    kept = list(values)
    array = np.empty(len(kept), dtype=object)
    array[:] = kept
    return array


def _no_texts(array: Array) -> Array:
    """A column of objects may hold numbers of any kind, but no texts that look like some."""
    if array.dtype == object:
        where = next((k for k, v in enumerate(array.tolist()) if isinstance(v, (str, bytes))), None)
        if where is not None:
            raise OutOfRangeError(
                f"The true value at position {where} is a text, not a number; turn the column into numbers before "
                "sampling. Nothing was drawn.",
                position=where,
            )
    return array


def _fits(drawn: Array) -> bool:
    """Do the reports fit into 64 bits? Otherwise they are Python's integers, below 2^123."""
    return drawn.dtype != object


def _from_numpy(values: Array) -> tuple[Kind, Array]:
    _no_strange_type(values.dtype)
    if isinstance(values, np.ma.MaskedArray):
        _none_missing(np.ma.getmaskarray(values))
        return np.ma.asarray, np.asarray(values.data)
    return np.asarray, np.asarray(values)


def _from_arrow(values: Any) -> tuple[Kind, Array]:
    arrow = sys.modules["pyarrow"]
    is_a = arrow.types
    chunked = hasattr(values, "num_chunks")
    kind = _bottom(arrow, values.type)
    known = (is_a.is_integer, is_a.is_floating, is_a.is_decimal, is_a.is_boolean, is_a.is_null)
    plain = _unwrapped(arrow, values) if any(is_kind(kind) for is_kind in known) else None
    if plain is None:
        raise _refuse_kind(f"an Arrow array of {_arrow_name(values.type)}")
    values = plain
    _none_missing(values.is_null().to_numpy(**({} if chunked else {"zero_copy_only": False})))
    if is_a.is_decimal(values.type):
        listed = _listed(values)
        if listed is None:
            raise _refuse_kind(f"an Arrow array of {_arrow_name(values.type)} with too many digits")
        array = _objects(listed)
    elif is_a.is_null(values.type):
        array = np.zeros(0, dtype=np.int64)
    else:
        array = np.asarray(values.to_numpy(**({} if chunked else {"zero_copy_only": False})))

    def back(drawn: Array) -> Any:
        made = arrow.array(drawn) if _fits(drawn) else arrow.array(drawn.tolist(), arrow.decimal128(38, 0))
        return arrow.chunked_array([made]) if chunked else made

    return back, array


def _bottom(arrow: Any, kind: Any) -> Any:
    """The type of the values themselves."""
    while True:
        if isinstance(kind, arrow.BaseExtensionType):
            kind = kind.storage_type
        elif arrow.types.is_dictionary(kind) or arrow.types.is_run_end_encoded(kind):
            kind = kind.value_type
        else:
            return kind


def _unwrapped(arrow: Any, values: Any) -> Any:
    """Numbers without dictionary, runs and names of somebody's own; None where Arrow cannot, whose words may quote an index."""
    is_a = arrow.types
    try:
        values.validate()  # that its buffers are as long as it says
        if is_a.is_run_end_encoded(values.type):
            values = import_module("pyarrow.compute").run_end_decode(values)
        if is_a.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if isinstance(values.type, arrow.BaseExtensionType):
            values = values.cast(values.type.storage_type)
    except arrow.ArrowException:
        return None
    return values if values.type == _bottom(arrow, values.type) else None


def _listed(values: Any) -> list[Any] | None:
    """Arrow's values as Python's; None where Arrow fails, whose words may quote one."""
    try:
        return list(values.to_pylist())
    except Exception:
        return None


def _arrow_name(kind: Any) -> str:
    """A type's name without its parts, which may be names of somebody's fields."""
    return str(kind).split("<")[0].split("[")[0].split("(")[0].strip()


def _from_pandas(values: Any) -> tuple[Kind, Array]:
    dtype = values.dtype
    name = str(dtype.name)
    if dtype.kind not in "iubf" and name not in ("object", "category") and not name.startswith("decimal"):
        raise _refuse_kind(f"a Series of {_arrow_name(name)}")
    if name == "category":
        categories = values.cat.categories.dtype
        if categories.kind not in "iubfO":
            raise _refuse_kind(f"a Series of categories that are {_arrow_name(categories.name)}")
    _none_missing(values.isna().to_numpy())
    array = _no_texts(np.asarray(values.to_numpy()))
    _no_strange_type(array.dtype)
    return (lambda drawn: type(values)(drawn, index=values.index, name=values.name)), array


def _from_polars(values: Any) -> tuple[Kind, Array]:
    polars = sys.modules["polars"]
    dtype = values.dtype
    plain = dtype.is_float() or dtype == polars.Boolean or (dtype.is_integer() and "128" not in str(dtype))
    if not (plain or dtype.is_numeric() or dtype in (polars.Object, polars.Null)):
        raise _refuse_kind(f"a Series of {dtype.base_type().__name__}")
    _none_missing(values.is_null().to_numpy())
    array = np.asarray(values.to_numpy()) if plain else _no_texts(_objects(values.to_list()))

    def back(drawn: Array) -> Any:
        if _fits(drawn):
            return type(values)(values.name, drawn)
        return type(values)(values.name, drawn.tolist(), dtype=polars.Int128)

    return back, array


def _from_list(values: list[Any] | tuple[Any, ...] | range) -> tuple[Kind, Array]:
    make = tuple if isinstance(values, tuple) else list
    kinds: set[type] = {int} if isinstance(values, range) else set(map(type, values))
    masked = first_masked(values, kinds)
    if masked is not None:
        _none_missing([*[False] * masked, True])
    try:
        array = np.asarray(values) if len(values) else np.zeros(0, dtype=np.int64)
    except ValueError:
        raise OutOfRangeError("Nested lists of true values must have rows of one length. Nothing was drawn.") from None
    except (TypeError, OverflowError):  # of kinds that NumPy cannot put into one array
        array = _objects(values)
    _no_strange_type(array.dtype, allowed=_TEXT)
    if array.dtype.kind not in "iub" and not all(issubclass(kind, float) for kind in kinds):
        if array.ndim != 1:
            raise OutOfRangeError("Nested lists of true values must be of whole numbers only. Nothing was drawn.")
        array = _objects(values)
    return (lambda drawn: drawn.tolist() if make is list or drawn.ndim > 1 else tuple(drawn.tolist())), array


def first_masked(values: Any, kinds: set[type]) -> int | None:
    """The flat position of the first masked value in a list, however deep; NumPy would read what lies under the mask."""
    if not any(issubclass(kind, (list, tuple, np.ma.MaskedArray)) for kind in kinds):
        return None
    passed = 0
    for value in values:
        if isinstance(value, np.ma.MaskedArray):
            where = np.flatnonzero(np.ma.getmaskarray(value))
            inner = int(where[0]) if len(where) else None
        else:
            inner = first_masked(value, set(map(type, value))) if isinstance(value, (list, tuple)) else None
        if inner is not None:
            return passed + inner
        passed += int(np.size(value)) if isinstance(value, (list, tuple, np.ndarray)) else 1
    return None
