"""DeepSpeed's configuration, wherever it is written: a JSON or YAML file, or a dict in the code."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from verifygate.base.records import record
from verifygate.configured_precision.document import Item
from verifygate.configured_precision.setting import DEEPSPEED, HUGGING_FACE, Setting
from verifygate.configured_precision.shapes import deepspeed_settings
from verifygate.sources.configuration_file import SCRIPTS
from verifygate.static.analysis import Analysis
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import simple_name
from verifygate.static.values.domain import DictLiteral, ExternalName, Frame, Literal, dict_items

WORDS = ("deepspeed.initialize(", "deepspeed=", "TrainingArguments(")
_LONGEST = 60
_KEYWORDS = {"initialize": ("config", "config_params"), "DeepSpeedPlugin": ("hf_ds_config",)}


@record
class Entry:
    """One setting of a table, and where a finding about it stands."""

    setting: Setting
    place: Location | Setting


@record
class Table:
    """The settings of one configuration, by the name of the key: `fp16.enabled`."""

    entries: dict[str, Entry]

    def value(self, key: str) -> str:
        """What a key is set to; empty where it is not set."""
        entry = self.entries.get(key)
        return entry.setting.value.lower() if entry is not None else ""


def tables(analysis: Analysis) -> Iterator[Table]:
    """Every table in the project: those in the code first."""
    seen: set[ast.AST] = set()
    for module in analysis.modules:
        for function in module.all_functions if module.mentions(*(word.encode() for word in WORDS)) else ():
            for call in function.calls:
                frame = analysis.evaluator.root_frame(function)
                for expr in _configurations(call, frame, analysis):
                    for value in analysis.evaluator.values(expr, frame):
                        if isinstance(value, DictLiteral) and value.node not in seen:
                            seen.add(value.node)
                            yield table_of(value)
    yield from in_files(analysis)


def in_files(analysis: Analysis) -> Iterator[Table]:
    """The tables in files, one for each place in a file that holds some."""
    groups: dict[tuple[str, str], dict[str, Entry]] = {}
    for setting in analysis.configuration.settings:
        if setting.framework == DEEPSPEED and not setting.path.endswith(SCRIPTS):
            around, key = _split(setting.key)
            groups.setdefault((setting.path, around), {})[key] = Entry(setting, setting)
    yield from (Table(entries) for entries in groups.values())


def table_of(value: DictLiteral) -> Table:
    """A dict in the code as a table."""
    function = value.frame.function
    found = deepspeed_settings(item_of(value.node), function.module.path)
    return Table({each.key: Entry(each, _place(value.node, each.key, function)) for each in found})


def item_of(node: ast.expr) -> Item:
    """An expression as a document: what is no constant in it is text in `${...}`."""
    if isinstance(node, ast.Dict) or (isinstance(node, ast.Call) and simple_name(node.func) == "dict"):
        return Item(node.lineno, {key: item_of(item) for key, item in dict_items(node).items()})
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | bool | None):
        text = str(node.value)
        return Item(node.lineno, node.value, text.lower() if isinstance(node.value, bool) else text)
    text = "${" + " ".join(ast.unparse(node).split())[:_LONGEST] + "}"
    return Item(node.lineno, text, text)


def _configurations(call: ast.Call, frame: Frame, analysis: Analysis) -> Iterator[ast.expr]:
    """The arguments of a call that are such a configuration."""
    last = simple_name(call.func)
    names = _KEYWORDS.get(last, ("deepspeed",) if last.endswith(("Arguments", "Config")) else ())
    given = [word.value for word in call.keywords if word.arg in names]
    if not given:
        return
    values = analysis.evaluator.values(call.func, frame)
    if last != "initialize" or any(
        isinstance(each, ExternalName) and each.name.startswith("deepspeed.") for each in values
    ):
        yield from given


def value_at(key: str, value: DictLiteral, analysis: Analysis) -> str:
    """What a key of a dict in the code is set to, where that is one constant; empty where it is not."""
    node = _place(value.node, key, value.frame.function).node
    found = analysis.evaluator.values(node, value.frame) if isinstance(node, ast.expr) else ()
    known = {str(each.value) for each in found if isinstance(each, Literal)}
    return known.pop() if len(known) == len(found) == 1 else ""


def scales_in_force(settings: Iterable[Setting]) -> Iterator[Setting]:
    """Some settings, without the loss scales of tables that do not switch `fp16` on: DeepSpeed ignores them.

    `auto` stands for what the training arguments say: of those, where none asks for fp16, nothing switches it on.
    """
    given = list(settings)
    switches = {(each.path, each.key): each for each in given if each.framework == DEEPSPEED}
    is_asked_for = any(each.framework == HUGGING_FACE and each.scales for each in given)
    for each in given:
        if each.framework == DEEPSPEED and each.aspect == "loss scale":
            switch = switches.get((each.path, f"{each.key.rpartition('.')[0]}.enabled"))
            if switch is None or switch.is_off or (switch.is_interpolated and not is_asked_for):
                continue
        yield each


def _place(node: ast.expr, key: str, function: Function) -> Location:
    """The value of a key in a dict."""
    for part in key.split("."):
        inner = dict_items(node).get(part) if isinstance(node, ast.Dict | ast.Call) else None
        node = inner if inner is not None else node
    return Location(function, node)


def _split(key: str) -> tuple[str, str]:
    """`deepspeed.fp16.enabled` as what leads to the table, and the key in it."""
    parts = key.split(".")
    own = 2 if parts[-2:-1] and parts[-2] in ("fp16", "bf16", "bfloat16", "amp", "data_types") else 1
    return ".".join(parts[:-own]), ".".join(parts[-own:])
