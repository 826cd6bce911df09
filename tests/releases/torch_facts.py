"""The facts of torch that the rules, the emulation and the machine's tables rest on, as one torch has them.

They are read from torch's files, Python and headers, and nothing is imported: a wheel is as good as an installation.
A fact is a name and a text. `torch_facts.json` has those of the torch that constraints.txt pins; where another torch
has another text, what rests on the fact is to be looked at again.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from torch_tree import TorchTree

from verifygate.static.machine import torch_library
from verifygate.torch_names import AUTOCASTS, DEPRECATED, GRAD_SCALERS, PARALLEL

FILE = Path(__file__).with_name("torch_facts.json")
SOURCES = (
    "torch/amp/autocast_mode.py",
    "torch/amp/grad_scaler.py",
    "torch/cpu/amp/autocast_mode.py",
    "torch/cpu/amp/grad_scaler.py",
    "torch/cuda/amp/autocast_mode.py",
    "torch/cuda/amp/grad_scaler.py",
    "torch/distributed/fsdp/sharded_grad_scaler.py",
    "torch/nn/utils/clip_grad.py",
)
"""Every function of these is two facts: its signature, and a digest of its body without comments and docstring."""
CALLED = (
    "torch/nn/parallel/distributed.py",
    "torch/optim/adam.py",
    "torch/optim/adamw.py",
    "torch/optim/lr_scheduler.py",
    "torch/optim/optimizer.py",
    "torch/optim/sgd.py",
    "torch/optim/swa_utils.py",
    "torch/utils/checkpoint.py",
)
"""Of these only the signatures of what has a public name, and of constructors: programs call them."""
HEADER = "torch/include/ATen/autocast_mode.h"
NATIVE = "torchgen/packaged/ATen/native/native_functions.yaml"
CUDA = "torch/lib/libtorch_cuda.so"
STUBS = {"torch.Tensor.": "torch/_C/__init__.pyi", "torch.": "torch/_C/_VariableFunctions.pyi"}
"""Where the signatures of operators are, by the beginning of their names."""
UNSCALE = b"_amp_foreach_non_finite_check_and_unscale_cuda_"
KERNEL_DTYPES = {"d": "float64", "f": "float32", "N3c104HalfE": "float16", "N3c108BFloat16E": "bfloat16"}
"""A dtype as the name of a compiled kernel has it."""
UNSCALE_FACT = "cuda kernel: unscale of gradients"
SETTINGS = {"torch/_functorch/config.py": ("backward_pass_autocast",)}
"""Module -> its settings whose default is a fact."""
_FUNCTOR = re.compile(rb"UnaryOpFunctorI(d|f|N3c104HalfE|N3c108BFloat16E|\w+?)Li1ELi1ELi0E")
_MACRO = re.compile(r"#define (AT_FORALL_\w+)\(_\)((?:[^\n]*\\\n)*[^\n]*)")
_ITEM = re.compile(r'_\((?:ADD_NS\((\w+)\)|(\w+))\s*(?:,\s*"?([\w.]+)"?)?')


@dataclass(frozen=True)
class Moved:
    """A fact that two torches do not share; None where one of them has none."""

    name: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before is None:
            return f"new      {self.name}: {self.after}"
        if self.after is None:
            return f"gone     {self.name}: was {self.before}"
        return f"changed  {self.name}: {self.before} -> {self.after}"


def facts_of(tree: TorchTree) -> dict[str, str]:
    """Every fact, by its name. What a build does not ship, as CUDA's kernels, is left out."""
    found = dict(_sources(tree))
    found |= _casts(tree)
    found |= _native(tree)
    found |= _operators(tree)
    found |= _settings(tree)
    found |= _names(tree)
    if (dtypes := unscale_dtypes(tree)) is not None:
        found[UNSCALE_FACT] = " ".join(dtypes)
    return dict(sorted(found.items()))


def kept() -> tuple[str, dict[str, str]]:
    """The version and the facts that the tables rest on."""
    document = json.loads(FILE.read_text(encoding="utf-8"))
    return document["torch"], document["facts"]


def written(tree: TorchTree) -> str:
    """The file of facts for one torch."""
    document = {"torch": tree.version.partition("+")[0], "facts": facts_of(tree)}
    return json.dumps(document, indent=1) + "\n"


def moved(before: Mapping[str, str], after: Mapping[str, str]) -> list[Moved]:
    """What differs, by name. The kernels of CUDA are in its builds alone: where one lacks them, nothing moved."""
    names = {*before, *after} - ({UNSCALE_FACT} if UNSCALE_FACT in {*before} ^ {*after} else set())
    return [
        Moved(name, before.get(name), after.get(name)) for name in sorted(names) if before.get(name) != after.get(name)
    ]


def unscale_dtypes(tree: TorchTree) -> tuple[str, ...] | None:
    """The dtypes of gradients that CUDA unscales, by the kernels in its library; None for a build without CUDA."""
    found = set()
    for before in tree.around(CUDA, UNSCALE, 400):
        functors = _FUNCTOR.findall(before.rpartition(b"\0")[2])
        found |= {KERNEL_DTYPES.get(each.decode(), each.decode()) for each in functors[-1:]}
    return tuple(sorted(found)) or None


def _sources(tree: TorchTree) -> Iterator[tuple[str, str]]:
    for path in (*SOURCES, *CALLED):
        text = tree.text(path)
        if text is None:
            yield f"module {path}", "missing"
            continue
        lines = text.splitlines()
        for name, function in _functions(ast.parse(text).body):
            if path in SOURCES:
                yield f"body {path}:{name}", _body_digest(function, lines)
            elif any(part.startswith("_") and part != "__init__" for part in name.split(".")):
                continue
            yield f"signature {path}:{name}", _parameters(function.args)


def _functions(body: list[ast.stmt], within: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions of a module and its classes; of overloads only what runs."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{within}{node.name}.")
        elif isinstance(node, ast.FunctionDef) and not any(map(_is_overload, node.decorator_list)):
            yield f"{within}{node.name}", node


def _is_overload(decorator: ast.expr) -> bool:
    return ast.unparse(decorator).endswith("overload")


def _parameters(args: ast.arguments) -> str:
    """Names, kinds, order and defaults; annotations mean nothing to a call."""
    for each in (*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))):
        each.annotation = None
    return f"({ast.unparse(args)})"


def _body_digest(function: ast.FunctionDef, lines: list[str]) -> str:
    """Of the text as it runs: decorators too, without docstring, comments on lines of their own, and spaces."""
    first = min([function.lineno, *(each.lineno for each in function.decorator_list)])
    documented = function.body[0] if ast.get_docstring(function, clean=False) is not None else None
    skipped = range(documented.lineno, (documented.end_lineno or 0) + 1) if documented else range(0)
    kept = (lines[at - 1].strip() for at in range(first, (function.end_lineno or first) + 1) if at not in skipped)
    text = "".join("".join(line.split()) for line in kept if not line.startswith("#"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _casts(tree: TorchTree) -> Iterator[tuple[str, str]]:
    """Which operators CUDA's autocast treats how: an item of a list is a fact, so that a change names the operator."""
    for name, items in _MACRO.findall(tree.text(HEADER) or ""):
        if name == "AT_FORALL_DEPRECATED_AUTOCAST_BACKENDS":
            continue
        for spaced, plain, overload in _ITEM.findall(items.replace("\\\n", " ")):
            operator = overload if "." in overload else ".".join(filter(None, (spaced or plain, overload)))
            yield f"autocast {operator}", name.removeprefix("AT_FORALL_").lower()


def _native(tree: TorchTree) -> Iterator[tuple[str, str]]:
    """The operators that a scaler calls: their schemas, and the devices that have them."""
    for part in (tree.text(NATIVE) or "").split("\n- func: ")[1:]:
        if part.startswith("_amp_"):
            schema, _, rest = part.partition("\n")
            devices = re.findall(r"^    ([A-Z]\w*(?:, \w+)*): \w+$", rest, re.MULTILINE)
            yield f"operator {schema.partition('(')[0]}", f"{schema} on {' '.join(devices)}"


def _operators(tree: TorchTree) -> Iterator[tuple[str, str]]:
    """A digest of the signatures of each operator of which the machine's table says what becomes of dtypes."""
    table = json.loads(Path(torch_library.__file__).with_name("operators.json").read_text(encoding="utf-8"))
    asked = {name.partition("[")[0] for names in table["rows"].values() for name in names.split()}
    for prefix, path in STUBS.items():
        defined: dict[str, list[str]] = {}
        for node in ast.walk(ast.parse(tree.text(path) or "")):
            if isinstance(node, ast.FunctionDef):
                defined.setdefault(node.name, []).append(_parameters(node.args))
        for name in sorted(asked):
            last = name.removeprefix(prefix)
            if name.startswith(prefix) and "." not in last and last in defined:
                text = " ".join(sorted(set(defined[last])))
                yield f"operator {name}", hashlib.sha256(text.encode()).hexdigest()[:12]


def _settings(tree: TorchTree) -> Iterator[tuple[str, str]]:
    for path, names in SETTINGS.items():
        for node in ast.parse(tree.text(path) or "").body:
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            if isinstance(target, ast.Name) and target.id in names and getattr(node, "value", None) is not None:
                yield f"setting {path}:{target.id}", ast.unparse(node.value)  # type: ignore[attr-defined]


def _names(tree: TorchTree) -> Iterator[tuple[str, str]]:
    """Whether torch still has what the tables of names name, and whether it calls that deprecated."""
    for name in sorted({*GRAD_SCALERS, *AUTOCASTS, *DEPRECATED, *PARALLEL}):
        yield f"name {name}", _standing(tree, name)


def _standing(tree: TorchTree, name: str) -> str:
    module, _, last = name.rpartition(".")
    text = next((text for each in _files(module) if (text := tree.text(each)) is not None), None)
    if text is None:
        return "missing"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == last:
            marks = [*node.decorator_list]
            marks += [mark for each in node.body if isinstance(each, ast.FunctionDef) for mark in each.decorator_list]
            return "deprecated" if any("deprecated(" in ast.unparse(each) for each in marks) else "defined"
        if isinstance(node, ast.ImportFrom) and any((each.asname or each.name) == last for each in node.names):
            return "imported"
    return "missing"


def _files(module: str) -> tuple[str, str]:
    path = module.replace(".", "/")
    return f"{path}/__init__.py", f"{path}.py"
