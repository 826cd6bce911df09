"""What keeps a program from running as it stands, as far as its source tells: data, downloads, a launcher."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from verifygate.programs.first_run import Comes, FirstRun
from verifygate.programs.option import Option, literal
from verifygate.programs.reach import Reached
from verifygate.programs.small_settings import Proposal, makes_up_data
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name

_FETCHES = frozenset({
    "load_dataset", "from_pretrained", "hf_hub_download", "snapshot_download", "load_state_dict_from_url",
    "download_url_to_file", "download_and_extract_archive", "urlretrieve", "urlopen", "download_url",
})  # fmt: skip
"""Calls that fetch over the network unless what they name lies here already."""
_MODULES_THAT_FETCH = frozenset({("requests", "get"), ("gdown", "download"), ("wget", "download")})
_SERVICES = {"wandb": "init", "comet_ml": "Experiment", "neptune": "init_run", "mlflow": "start_run"}
"""Module of a service that keeps logs -> the call that begins one."""
_LAUNCHER = frozenset({"LOCAL_RANK", "RANK", "WORLD_SIZE"})
_IS_DATA = re.compile(
    r"(?:train_|val_|test_|input_|image_|img_|text_|content_|style_)*(?:data|dataset|datasets|images?|imgs?|corpus)"
    r"(?:_?(?:dir|path|root|folder|file))?|dataroot|root(?:_dir)?|(?:train|input|corpus)_(?:dir|path|file|root)|(?:config|cfg|hparams)(?:_(?:file|path))?"
)
_LIKE_DATA = re.compile(
    r"\w*(?:input|(?<!pre)train|val|valid|data|wavs?|audio|image|label|mask)\w*_(?:dir|path|file|folder|root|list)"
)
"""A wider one, for options whose default is a path."""
_IS_CONFIG = re.compile(r"config|cfg|hparams")
_DATA_PATH = re.compile(r"\.{0,2}/?(?:[\w.-]+/)*[\w.-]*(?:data|imgs|images|masks|corpus)[\w.-]*(?:/[\w.-]*)*")
_OPENS = frozenset({"open", "Path", "ImageFolder", "load", "read_csv", "loadtxt", "memmap"})
_WRITES = re.compile(r"[wax]")
MOST = 4
"""Obstacles that are named."""


def obstacles(
    reached: Reached, first: FirstRun, options: Iterable[Option], small: Iterable[Proposal], root: Path
) -> list[str]:
    """Each in words. `small`: the settings that are proposed; `root`: where the program runs."""
    given = {each.option.name for each in small}
    rest = [option for option in options if option.name not in given]
    found = [f"needs {option.asked}" for option in rest if option.required]
    if not any(makes_up_data(each) for each in small):
        found += filter(None, (_missing_data(option, root) for option in rest if not option.required))
        found += _opened_options(reached, first, rest)
        found += _fetching(reached, first)
        found += _missing_files(reached, first, root)
    found += _services(reached, first)
    found += _launched(reached, first)
    return found


def _missing_data(option: Option, root: Path) -> str:
    """That the folder or file of an option's default is not there; empty where it is, or it is none."""
    name, default = option.name.lower(), option.default
    if option.choices or option.kind not in ("", "str", "Path"):
        return ""
    if default in (None, ""):
        is_data = _IS_DATA.fullmatch(name) and not _IS_CONFIG.match(name)
        return f"may need {option.asked}" if is_data else ""
    if not (_IS_DATA.fullmatch(name) or _LIKE_DATA.fullmatch(name)):
        return ""
    if not isinstance(default, str):
        return ""
    is_path = "/" in default or not option.flags or "dir" in name or PurePosixPath(default).suffix
    if not is_path or _holds_something(root / default):
        return ""
    return f"needs {option.asked}: its default `{default}` is not here"


def _opened_options(reached: Reached, first: FirstRun, options: list[Option]) -> Iterator[str]:
    """Options without a default whose value a first run opens: `open(args.config)`."""
    empty = {each.name: each for each in options if not each.required and each.default in (None, "") and each.flags}
    for function, call in _calls(reached):
        if not (isinstance(call.func, ast.Name) and call.func.id == "open" and call.args):
            continue
        match call.args[0]:
            case ast.Attribute(value=ast.Name(), attr=name) if name in empty:
                if first.comes_by(call, function) is Comes.YES:
                    yield f"needs {empty[name].asked}"


def _holds_something(path: Path) -> bool:
    """Whether there is a file at a path, or a folder with more than hidden files in it."""
    try:
        return path.is_file() or (path.is_dir() and any(not each.name.startswith(".") for each in path.iterdir()))
    except OSError:
        return False


def _fetching(reached: Reached, first: FirstRun) -> Iterator[str]:
    """The first place that fetches something over the network; one that may, where none is certain to."""
    places: dict[Comes, str] = {}
    for function, call in _calls(reached):
        fetches = (last_name(call.func) in _FETCHES and not _is_local(call)) or _downloads(call) or _gets(call)
        if fetches and (comes := first.comes_by(call, function)):
            places.setdefault(comes, _place(call, function))
    if places:
        surest = max(places)
        yield f"{'downloads' if surest is Comes.YES else 'may download'}: {places[surest]}"


def _services(reached: Reached, first: FirstRun) -> Iterator[str]:
    """A service that keeps logs, and asks for an account."""
    for function, call in _calls(reached):
        home = last_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        if _SERVICES.get(home) == last_name(call.func) and first.comes_by(call, function) is Comes.YES:
            yield f"logs to a service, {home}: {_place(call, function)}"
            return


def _missing_files(reached: Reached, first: FirstRun, root: Path) -> Iterator[str]:
    """Files and folders that literal paths name, and that are not there."""
    for function, call in _calls(reached):
        if last_name(call.func) not in _OPENS or not (path := _read_by(call, function)):
            continue
        if _holds_something(root / path) or first.is_looked_for(call, function):
            continue
        comes = first.comes_by(call, function)
        opens = last_name(call.func) != "Path" and _DATA_PATH.fullmatch(path)
        if comes is Comes.YES or (comes is Comes.PERHAPS and opens):
            what = "is empty here" if (root / path).is_dir() else "is not here"
            yield f"reads `{path}`, which {what}: {_place(call, function)}"


def _calls(reached: Reached) -> Iterator[tuple[Function, ast.Call]]:
    return ((function, call) for function in reached.functions for call in function.calls)


def _place(node: ast.expr, function: Function) -> str:
    return f"{function.module.path}:{node.lineno}"


def _gets(call: ast.Call) -> bool:
    """`requests.get(...)`, `gdown.download(...)`, `wget.download(...)`."""
    func = call.func
    return isinstance(func, ast.Attribute) and (last_name(func.value), func.attr) in _MODULES_THAT_FETCH


def _downloads(call: ast.Call) -> bool:
    """`MNIST("data", download=True)`."""
    return any(word.arg == "download" and literal(word.value) is True for word in call.keywords)


def _is_local(call: ast.Call) -> bool:
    """Whether what is loaded is named by a path, or is text that is no name."""
    first = literal(call.args[0]) if call.args else None
    return isinstance(first, str) and first.startswith((".", "/"))


def _read_by(call: ast.Call, function: Function) -> str:
    """The path of data that a call reads, where the source says it; empty for a call that writes."""
    path = _text(call.args[0], function) if call.args else None
    name = last_name(call.func)
    if not path or path.startswith("~"):
        return ""
    words = {word.arg: word.value for word in call.keywords}
    if name == "open" and not isinstance(call.func, ast.Name):
        return ""
    if name in ("open", "memmap"):
        mode = literal(words.get("mode") or (call.args[1] if len(call.args) > 1 and name == "open" else None)) or "r"
        return path if isinstance(mode, str) and not _WRITES.search(mode) else ""
    if name in ("load", "ImageFolder", "read_csv", "loadtxt"):
        return path if PurePosixPath(path).suffix or name == "ImageFolder" else ""
    return path if _DATA_PATH.fullmatch(path) and "/" in path else ""


def _text(expr: ast.expr, function: Function, depth: int = 0) -> str | None:
    """The text that an expression is: a literal, a name that is bound to one once, `os.path.join` of such, `a / b`."""
    match expr:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name) if depth < 4:
            homes = [function, function.module.body]
            bound = [
                (node.value, home)
                for home in dict.fromkeys(homes)
                for node in home.of_kind(ast.Assign)
                if any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
            ]
            return _text(*bound[0], depth + 1) if len(bound) == 1 else None
        case ast.Call(func=ast.Attribute(attr="join", value=ast.Attribute(attr="path")), args=[_, *_] as parts):
            texts = [_text(part, function, depth + 1) for part in parts]
            return "/".join(map(str, texts)) if None not in texts else None
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            head, tail = _text(left, function, depth + 1), _text(right, function, depth + 1)
            return f"{head}/{tail}" if head is not None and tail is not None else None
        case ast.Call(func=func, args=[only]) if last_name(func) == "Path":
            return _text(only, function, depth + 1)
    return None


def _launched(reached: Reached, first: FirstRun) -> Iterator[str]:
    """Where what a launcher sets must be there: `os.environ["LOCAL_RANK"]`, a process group of no given rank."""
    for function, call in _calls(reached):
        by_environment = last_name(call.func) == "init_process_group" and all(w.arg != "rank" for w in call.keywords)
        if by_environment and first.comes_by(call, function) is Comes.YES:
            yield f"is started by torchrun: {_place(call, function)}"
            return
    for function in reached.functions:
        for node in function.of_kind(ast.Subscript):
            if last_name(node.value) != "environ" or literal(node.slice) not in _LAUNCHER:
                continue
            if isinstance(node.ctx, ast.Load) and first.comes_by(node, function) is Comes.YES:
                yield f"is started by torchrun: {_place(node, function)}"
                return
