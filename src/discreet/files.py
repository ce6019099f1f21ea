"""Mechanisms as files: one JSON document that verify.py can check with the standard library alone. No pickle."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from . import verify
from .channels import read_channel
from .channels.properties import LETTERS
from .errors import FileError
from .exact.arithmetic import show
from .exact.concentrated import of_power
from .exact.level import Epsilon, Level
from .exact.names import read_answers
from .exact.neighbours import Neighbours
from .measure.description import properties
from .mechanism import Mechanism, Procedure, Recipe
from .present.saving import check_no_database
from .traditional.methods import METHODS, Method

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]


# To a document


def document(m: Procedure) -> dict[str, Any]:
    """Everything that makes a mechanism what it is, with its claims and a digest over all of it. A method claims alpha = 0."""
    _check_depth(m)
    claims: dict[str, Any] = {"tight": None, "properties": _properties(m)}
    if m.sensitivity is not None:  # of a graph the level alone is claimed
        claims["tight"] = _tight(m)
    if isinstance(m, Mechanism) and m.concentration is not None:
        claims["rho"] = str(of_power(*m.concentration))
    body: dict[str, Any] = {
        "format": verify.FORMAT,
        "version": verify.VERSION,
        "inputs": m.inputs.written(),
        "outputs": m.outputs.written(),
        "neighbours": m.neighbours.written(m.inputs),
        "level": written_level(m.claim),
        "recipe": _recipe(m.recipe),
        "channel": m.channel.written(),
        "claims": claims,
    }
    if isinstance(m, Mechanism) and m.certificate is not None:
        body["certificate"] = dict(m.certificate)
    return {**body, "digest": verify.digest(body)}


def _tight(m: Procedure) -> dict[str, Any] | None:
    """The tight level; none is claimed of Gaussian noise, of which rho is."""
    if m.channel.concentration(1) is not None:
        return {"alpha": "0", "power": 1, "exact": False}
    worst = m.worst
    return None if worst is None else {"alpha": str(worst.alpha), "power": worst.power, "exact": worst.exact}


def law(m: Procedure) -> dict[str, Any]:
    """What the reports follow, and nothing else: the grids and the channel."""
    return {"inputs": m.inputs.written(), "outputs": m.outputs.written(), "channel": m.channel.written()}


def digest(m: Procedure) -> str:
    """A digest over what makes two mechanisms equal: the distribution, alpha and the neighbours in their shortest form."""
    _check_depth(m)
    return verify.digest(
        {**law(m), "alpha": str(m.claim.alpha), "neighbours": m.neighbours.reduced(m.inputs).written(m.inputs)}
    )


def _check_depth(m: Procedure) -> None:
    """Refuse what could not be read again; without recursion, which the deepest chains would not survive."""
    parts, recipes = [(m.channel, 0)], [m.recipe]
    count = deepest = 0
    while parts:
        channel, depth = parts.pop()
        count, deepest = count + 1, max(deepest, depth)
        parts += [(part, depth + 1) for part in channel.parts]
    while recipes[-1].of is not None:
        recipes.append(recipes[-1].of)
    if deepest > verify.MAX_DEPTH or len(recipes) > verify.MAX_DEPTH + 1 or count > verify.MAX_PARTS:
        raise FileError(
            f"More than {verify.MAX_DEPTH} mechanisms in sequence, or {verify.MAX_PARTS} parts, cannot be saved; "
            "merge some first, for example with from_matrix.",
            kind="shape",
        )


def written_level(level: Level) -> dict[str, Any]:
    asked = level.asked
    base = None if asked is None or asked.base is None else str(asked.base)
    return {
        "alpha": str(level.alpha),
        "epsilon": None if asked is None else {"factor": str(asked.factor), "base": base},
    }


def _recipe(recipe: Recipe) -> dict[str, Any]:
    return {
        "family": recipe.family,
        "parameters": dict(recipe.parameters),
        "citation": recipe.citation,
        "distance": recipe.distance,
        "of": None if recipe.of is None else _recipe(recipe.of),
    }


def _properties(m: Procedure) -> list[str] | None:
    channel = m.channel.finite()
    if m.inputs != m.outputs or channel is None or channel.concentration(1) is not None:
        return None
    if channel.faults() is None and channel.integers() is None:
        return None
    held = properties(m)
    return [letter for letter in LETTERS if letter in held]


def save(m: Procedure, path: str | os.PathLike[str]) -> None:
    """Write a mechanism to a file: whole or not at all."""
    write_whole(path, text(m))


def text(m: Procedure) -> str:
    """A mechanism as the text of its file, after verify.py has read it: what could not be loaded is not written."""
    content = json.dumps(document(m), indent=1, ensure_ascii=True, allow_nan=False) + "\n"
    try:
        verify.verify(verify.parse(content.encode("ascii")))
    except verify.Fault as fault:
        raise FileError(
            f"The mechanism cannot be saved so that it could be loaded again: {fault}", kind=fault.kind
        ) from None
    return content


def write_whole(
    path: str | os.PathLike[str],
    content: str | bytes,
    *,
    overwrite: bool = True,
) -> None:
    """Write a text to a temporary name beside the target, sync it, then rename it: never half a file.

    A link is followed; anything but a plain file in its place (a pipe, a device, a folder) is refused. Without `overwrite` a file
    that is there is refused at the moment of writing, whoever wrote it.
    """
    write_together({Path(file_name(path)): content}, overwrite=overwrite)


def write_together(
    contents: Mapping[Path, str | bytes],
    remove: Iterable[Path] = (),
    *,
    overwrite: bool = True,
) -> None:
    """Write several files: all of them under temporary names first, so that a full disk leaves the old ones untouched.

    Then they are renamed in their order; what is to be removed goes before the last of them takes its place. Where that
    fails half way, what stood there before is put back. Programs of ours that write to one folder take turns, so that their
    files are never mixed; without `overwrite`, no name is taken that another one has by then.
    """
    staged: dict[Path, tuple[Path, Path]] = {}
    kept: dict[Path, Path | None] = {}
    removed = list(remove)
    try:
        for target, content in contents.items():
            staged[target] = _stage(target, content)
        with _alone(contents):
            if len(staged) + len(removed) > 1:
                for real in [*(real for _, real in staged.values()), *removed]:
                    with _refusals(real):
                        kept[real] = _second_name(real)
            try:
                for k, (target, (temporary, real)) in enumerate(staged.items(), 1):
                    for old in removed if k == len(staged) else ():
                        with _refusals(old):
                            old.unlink(missing_ok=True)
                    with _refusals(target):
                        _take(target, temporary, real, overwrite)
            except BaseException:  # what others wrote meanwhile is not ours to put back
                ours = {real for temporary, real in staged.values() if _is_taken(temporary, real)}
                for real, copy in kept.items():
                    if real in ours or not real.exists():
                        real.unlink(missing_ok=True) if copy is None else os.replace(copy, real)
                raise
    finally:  # an interrupt too leaves nothing behind
        for spare in [*(temporary for temporary, _ in staged.values()), *filter(None, kept.values())]:
            spare.unlink(missing_ok=True)


def _take(target: Path, temporary: Path, real: Path, overwrite: bool) -> None:
    """Give a file its name, in one step; without `overwrite` only if no other has it by now."""
    if overwrite:
        os.replace(temporary, real)
        return
    try:
        try:
            os.link(temporary, real)
        except FileExistsError:
            raise
        except OSError:  # no second names on this disk: an empty file takes the name first
            os.close(os.open(real, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            try:
                os.replace(temporary, real)
            except BaseException:
                real.unlink(missing_ok=True)
                raise
    except FileExistsError:
        raise FileError(
            f"{target} was written by somebody else in the meantime, and is left as it is; choose another name, or "
            "pass overwrite=True to replace it.",
            kind="missing",
        ) from None


def _is_taken(temporary: Path, real: Path) -> bool:
    """Whether a file has its name by now, as the disk says: it has both names, or the temporary one no more. An interrupt may
    come between taking a name and any note of it."""
    try:
        return os.path.samefile(temporary, real)
    except FileNotFoundError:
        return not temporary.exists()


@contextmanager
def _alone(targets: Iterable[Path]) -> Iterator[None]:
    """Only one program of ours at a time gives files their names in a folder; where the system has such locks."""
    with ExitStack() as stack:
        for folder in sorted({target.resolve().parent for target in targets}) if fcntl is not None else ():
            try:
                file = os.open(folder, os.O_RDONLY)
            except OSError:
                continue
            stack.callback(os.close, file)  # which gives the lock back, however the process ends
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _second_name(real: Path) -> Path | None:
    """A second name of a file that is there, by which it can be brought back; a copy where names are not to be had."""
    if not real.exists():
        return None
    spare = real.with_name(f".{real.name}.{os.urandom(6).hex()}")
    try:
        os.link(real, spare)
    except OSError:
        shutil.copy2(real, spare)
    return spare


@contextmanager
def whole_file(path: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[Path]:
    """A temporary name to write a file of any kind under; afterwards it is synced and takes its place, whole or not at all.

    What is there already is refused, before and after, unless it is to be overwritten.
    """
    target = Path(file_name(path))
    temporary, real = _stage(target, "")
    try:
        _check_free(target, real, overwrite)
        yield temporary
        with _refusals(target):
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            _take(target, temporary, real, overwrite)
    finally:
        temporary.unlink(missing_ok=True)


def _check_free(target: Path, real: Path, overwrite: bool) -> None:
    if not overwrite and os.path.lexists(real):
        raise FileError(
            f"{target} already exists; choose another name, or set overwrite=True to replace it.", kind="missing"
        )


def check_writable(paths: Iterable[Path]) -> None:
    """Refuse what `write_together` would refuse, by writing an empty file beside each target and removing it."""
    for path in paths:
        _stage(path, "")[0].unlink()


def _stage(target: Path, content: str | bytes) -> tuple[Path, Path]:
    """The content, synced, under a temporary name; and the place that it is meant for."""
    with _refusals(target):
        real = target.resolve()
        known = real.stat() if real.exists() else None
        if not target.name or "\0" in str(target) or (known is not None and not stat.S_ISREG(known.st_mode)):
            raise FileError(
                f"{str(target)!r} cannot be written: it is no plain file. Give another name.", kind="missing"
            )
        check_no_database(target, real)
        temporary = real.with_name(f".{real.name}.{os.urandom(6).hex()}")
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
            try:
                if known is not None:
                    os.chmod(temporary, stat.S_IMODE(known.st_mode))
                file.write(content if isinstance(content, bytes) else content.encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        return temporary, real


@contextmanager
def _refusals(target: Path) -> Iterator[None]:
    """What the system says against a file, as one sentence."""
    try:
        yield
    except OSError as error:
        raise FileError(
            f"{target} cannot be written ({error.strerror}). Check that its folder exists and has room.", kind="missing"
        ) from None
    except ValueError as error:
        if isinstance(error, FileError):
            raise
        raise FileError("The name of the file cannot be used. Choose another one.", kind="missing") from None


# From a document


def load(path: str | os.PathLike[str]) -> Mechanism:
    """Read a mechanism; every claim of the file is verified first, and nothing is loaded when one fails.

    >>> import discreet as dt
    >>> dt.geometric(8, alpha="9/10").save("geometric.json")
    >>> dt.load("geometric.json") == dt.geometric(8, alpha="9/10")
    True
    """
    return _mechanism_of(load_procedure(path))


def load_method(path: str | os.PathLike[str]) -> Method:
    """The same for a traditional method, which claims nothing."""
    read = load_procedure(path)
    if not isinstance(read, Method):
        raise FileError(f"{file_name(path)} holds a mechanism; read it with discreet.load.", kind="shape")
    return read


def load_procedure(path: str | os.PathLike[str]) -> Procedure:
    """The same for whatever a file holds, mechanism or method."""
    name = file_name(path)
    return _checked(lambda: verify.read(name), name)


def _mechanism_of(read: Procedure) -> Mechanism:
    if not isinstance(read, Mechanism):
        raise FileError(
            f"The file holds {read.recipe.family}, a traditional method that is not private; read it with "
            "discreet.traditional.Method.load, or give the file of a mechanism.",
            kind="shape",
        )
    return read


def file_name(path: Any) -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise FileError(f"{show(path)} is no name of a file; give its path as a text.", kind="missing")
    return os.fspath(path)


def loads(data: bytes, name: str = "the text") -> Mechanism:
    """A mechanism from the bytes of a file."""
    return _mechanism_of(loads_procedure(data, name))


def loads_procedure(data: bytes, name: str = "the text") -> Procedure:
    """Whatever the bytes of a file hold, mechanism or method."""
    return _checked(lambda: verify.parse(data, name), name)


def _checked(read: Callable[[], dict[str, Any]], name: str) -> Procedure:
    try:
        content = read()
        verify.verify(content)
    except verify.Fault as fault:
        raise FileError(str(fault), kind=fault.kind) from None
    try:
        return _procedure(content)
    except FileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise FileError(
            f"{name} is not a mechanism file that discreet wrote ({type(error).__name__}). Save the mechanism again.",
            kind="shape",
        ) from None


def _procedure(content: dict[str, Any]) -> Procedure:
    epsilon = content["level"]["epsilon"]
    asked = (
        None
        if epsilon is None
        else Epsilon(Fraction(epsilon["factor"]), None if epsilon["base"] is None else Fraction(epsilon["base"]))
    )
    inputs, outputs = read_answers(content["inputs"]), read_answers(content["outputs"])
    channel, recipe = read_channel(content["channel"]), _read_recipe(content["recipe"])
    if recipe.family in METHODS and recipe.of is None:
        return Method(inputs, outputs, channel, recipe)
    return Mechanism(
        inputs,
        outputs,
        channel,
        Level(Fraction(content["level"]["alpha"]), asked),
        Neighbours.read(content["neighbours"], inputs),
        recipe,
        content.get("certificate"),
    )


def _read_recipe(part: dict[str, Any]) -> Recipe:
    parameters = tuple((str(key), str(value)) for key, value in part["parameters"].items())
    of = None if part["of"] is None else _read_recipe(part["of"])
    return Recipe(str(part["family"]), parameters, str(part["citation"]), float(part["distance"]), of)
