"""Ways to write a training loop differently that change nothing of what it does.

Each makes a program, a dict of path and text, of a loop, or None where the loop has nothing that it rewrites. The marks
(`# expect: CODE`) are comments of statements, and travel with them; an FP32 copy of a statement has none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import libcst as cst
import libcst.matchers as m
from rewriting import (
    Loop,
    Names,
    Program,
    Renamed,
    Returning,
    Statement,
    block,
    call,
    code,
    each,
    function,
    guarded,
    is_region,
    program,
    statement,
)

# --- names and imports


def as_written(loop: Loop) -> Program:
    return loop.having()


class Meaningless(cst.CSTTransformer):
    """Gives variables, and the attributes of the same name, other names."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = {name: f"q{number}" for number, name in enumerate(dict.fromkeys(names))}

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        return updated_node.with_changes(value=self.names.get(updated_node.value, updated_node.value))


def renamed(made: Program, loop: Loop) -> Program:
    """The program with names that say nothing for all the variables of the loop, in every file."""
    names = [*loop.parameters, *loop.made, *Names(loop.head.target).read, *Names(*loop.body).assigned]
    return {path: cst.parse_module(text).visit(Meaningless(names)).code for path, text in made.items()}


def variables_renamed(loop: Loop) -> Program:
    return renamed(loop.having(), loop)


def annotated_with_any(loop: Loop) -> Program:
    """Every parameter is annotated with what names no class."""
    made = loop.train()
    parameters = [
        each.with_changes(annotation=cst.Annotation(cst.Name("Any" if number % 2 else "object")))
        for number, each in enumerate(made.params.params)
    ]
    annotated = made.with_changes(params=made.params.with_changes(params=parameters))
    return program(train=[*loop.imports, statement("from typing import Any\n"), annotated])


def beside_an_unrelated_file(loop: Loop) -> Program:
    """A file that nothing imports has a scaler and an optimizer of its own names."""
    body = "        return x\n\n    def step(self, optimizer):\n        self.scaler = optimizer\n"
    other = cst.parse_module(f"class Shelf:\n    def scale(self, x):\n{body}")
    return loop.having() | {"shelf.py": other.code}


def imported_as_modules(loop: Loop) -> Program:
    """`import torch as th`, and everything else through an alias of its module."""
    names = Renamed({"torch": "th", "autocast": "mixed.autocast", "GradScaler": "mixed.GradScaler"})
    body = [loop.train()]
    imports = [statement("import torch as th\n"), statement("import torch.amp as mixed\n")]
    return program(train=[*imports, *each(body, names)])


class DevicesDropped(cst.CSTTransformer):
    """`autocast("cuda", ...)` and `GradScaler("cuda")` as the interface before torch 2.4 had them."""

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        if m.matches(updated_node, m.Call(m.Name("autocast") | m.Name("GradScaler"))):
            return updated_node.with_changes(args=updated_node.args[1:])
        return updated_node


def old_interface(loop: Loop) -> Program:
    """The deprecated classes of torch.cuda.amp."""
    body = [loop.train()]
    imports = [statement("import torch\n"), statement("from torch.cuda.amp import GradScaler, autocast\n")]
    return program(train=[*imports, *each(body, DevicesDropped())])


def setup_aliased(loop: Loop) -> Program:
    """The loop goes by second names of the optimizers and the scaler."""
    others = {name: f"the_{name}" for name in unchanging(loop)}
    aliases = [statement(f"{new} = {name}\n") for name, new in others.items()]
    return loop.having(setup=[*loop.setup, *aliases], body=each(loop.body, Renamed(others)))


def state_in_dataclass(loop: Loop) -> Program:
    """Optimizers and scaler are fields of one object."""
    fields = unchanging(loop)
    made = "".join(f"    {name}: object\n" for name in fields)
    state = statement(f"@dataclass\nclass State:\n{made}")
    build = statement(f"state = State({', '.join(fields)})\n")
    body = each(loop.body, Renamed({name: f"state.{name}" for name in fields}))
    imports = [statement("from dataclasses import dataclass\n")]
    return loop.having(setup=[*loop.setup, build], body=body, before=[state], imports=imports)


def state_in_namespace(loop: Loop) -> Program:
    """Optimizers and scaler are attributes of a SimpleNamespace."""
    fields = unchanging(loop)
    build = statement(f"state = SimpleNamespace({', '.join(f'{name}={name}' for name in fields)})\n")
    body = each(loop.body, Renamed({name: f"state.{name}" for name in fields}))
    imports = [statement("from types import SimpleNamespace\n")]
    return loop.having(setup=[*loop.setup, build], body=body, imports=imports)


def state_in_dict(loop: Loop) -> Program:
    """Optimizers and scaler are values of a dict."""
    fields = unchanging(loop)
    build = statement(f"state = {{{', '.join(f'{name!r}: {name}' for name in fields)}}}\n")
    body = each(loop.body, Renamed({name: f"state[{name!r}]" for name in fields}))
    return loop.having(setup=[*loop.setup, build], body=body)


def unchanging(loop: Loop) -> list[str]:
    """What the set-up makes and the loop never rebinds."""
    return [name for name in loop.made if name not in Names(*loop.body).assigned]


# --- the same statements, written otherwise


class ScaledFirst(cst.CSTTransformer):
    """`scaler.scale(loss).backward()` in two statements."""

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.SimpleStatementLine]:
        scale = m.Call(m.Attribute(m.Name("scaler"), m.Name("scale")))
        backward = m.Expr(m.Call(m.Attribute(m.SaveMatchedNode(scale, "scaled"), m.Name("backward"))))
        if not (found := m.extract(updated_node, m.SimpleStatementLine([backward]))):
            return updated_node
        scaled = found["scaled"]
        assert isinstance(scaled, cst.Call)
        first = cst.ensure_type(statement(f"scaled = {code(scaled)}\n"), cst.SimpleStatementLine)
        second = cst.ensure_type(updated_node.deep_replace(scaled, cst.Name("scaled")), cst.SimpleStatementLine)
        return cst.FlattenSentinel([first, second])


def scaled_loss_in_variable(loop: Loop) -> Program | None:
    if "scaler" not in loop.made:
        return None
    return loop.having(body=each(loop.body, ScaledFirst()))


class RegionsNamed(cst.CSTTransformer):
    def leave_With(self, original_node: cst.With, updated_node: cst.With) -> cst.FlattenSentinel[cst.BaseStatement]:
        made = statement(f"region = {code(updated_node.items[0].item)}\n")
        item = updated_node.items[0].with_changes(item=cst.Name("region"))
        return cst.FlattenSentinel([made, updated_node.with_changes(items=[item])])


def region_in_variable(loop: Loop) -> Program:
    """The autocast object has a name before it is entered."""
    return loop.having(body=each(loop.body, RegionsNamed()))


class BoundMethods(cst.CSTTransformer):
    """`scaler.step(...)` through a variable that holds the method."""

    def __init__(self) -> None:
        self.taken: dict[str, None] = {}

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        verbs = m.Name("unscale_") | m.Name("step") | m.Name("update")
        if not m.matches(updated_node, m.Call(m.Attribute(m.Name("scaler"), verbs))):
            return updated_node
        verb = code(updated_node.func).rpartition(".")[2]
        self.taken.setdefault(verb)
        return updated_node.with_changes(func=cst.Name(f"scaler_{verb}"))


def verbs_in_variables(loop: Loop) -> Program | None:
    """The scaler's methods are taken once, above the loop."""
    bound = BoundMethods()
    body = each(loop.body, bound)
    if not bound.taken:
        return None
    taken = [statement(f"scaler_{verb} = scaler.{verb}\n") for verb in bound.taken]
    return loop.having(setup=[*loop.setup, *taken], body=body)


class Logged(cst.CSTTransformer):
    """A line of log behind every statement."""

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.BaseStatement]:
        if m.matches(updated_node, m.SimpleStatementLine([m.Continue()])):
            return updated_node
        return cst.FlattenSentinel([updated_node, statement('print("done", flush=True)\n')])


def logged_between(loop: Loop) -> Program:
    return loop.having(body=each(loop.body, Logged()))


def independent_swapped(loop: Loop) -> Program:
    """Neighbours that have nothing to do with each other change places, in the set-up and in the loop."""
    losses = Names(*[node for node in loop.body if is_region(node)]).assigned
    one_by_one = {*loop.parameters, *loop.made, *losses}  # tied to each other by the gradients, whatever their names
    return loop.having(setup=swapped(loop.setup), body=swapped(loop.body, one_by_one))


def swapped(statements: Sequence[Statement], tied: Collection[str] = ()) -> list[Statement]:
    found = list(statements)
    at = 0
    while at + 1 < len(found):
        one, two = Names(found[at]), Names(found[at + 1])
        shared = (one.assigned.keys() & two.read.keys()) | (one.read.keys() & two.assigned.keys())
        both_tied = tied and one.read.keys() & set(tied) and two.read.keys() & set(tied)
        jumps = m.findall(found[at], m.Continue()) or m.findall(found[at + 1], m.Continue())
        if shared or both_tied or jumps:
            at += 1
            continue
        found[at], found[at + 1] = found[at + 1], found[at]
        at += 2
    return found


def zeroed_behind_forward(loop: Loop) -> Program | None:
    """Gradients are zeroed between the forward and the backward."""
    at = next(number for number, node in enumerate(loop.body) if is_region(node))
    zeroing = m.SimpleStatementLine([m.Expr(m.Call(m.Attribute(attr=m.Name("zero_grad"))))])
    zeroed = [node for node in loop.body[:at] if m.matches(node, zeroing)]
    if not zeroed or "backward" in code(loop.body[at]):
        return None
    others = [node for node in loop.body[:at] if node not in zeroed]
    return loop.having(body=[*others, loop.body[at], *zeroed, *loop.body[at + 1 :]])


def batches_by_while(loop: Loop) -> Program:
    """`while True` with an iterator asked by hand."""
    stream = statement(f"stream = iter({code(loop.head.iter)})\n")
    take = [
        statement("batch = next(stream, None)\n"),
        guarded("batch is None", [statement("break\n")]),
        statement(f"{code(loop.head.target)} = batch\n"),
    ]
    loops = cst.While(cst.Name("True"), block([*take, *loop.body]))
    return loop.having(loop=[stream, loops])


def in_epochs(loop: Loop) -> Program:
    """A loop over epochs around the loop over batches."""
    outer = cst.For(cst.Name("epoch"), cst.parse_expression("range(epochs)"), block([loop.head]))
    return loop.having(loop=[outer], more=["epochs"])


def in_try_finally(loop: Loop) -> Program:
    whole = cst.Try(block([loop.head]), finalbody=cst.Finally(block([statement('print("end")\n')])))
    return loop.having(loop=[whole])


def in_nullcontext(loop: Loop) -> Program:
    """The body of the loop in a context that does nothing."""
    context = cst.With([cst.WithItem(cst.parse_expression("nullcontext()"))], block(loop.body))
    return loop.having(body=[context], imports=[statement("from contextlib import nullcontext\n")])


def early_continue(loop: Loop) -> Program:
    """An empty batch is left at once."""
    first = next(iter(Names(loop.head.target).read))
    return loop.having(body=[guarded(f"{first} is None", [statement("continue\n")]), *loop.body])


def early_stop(loop: Loop) -> Program | None:
    """The loop may end behind a whole iteration, as for a limit on iterations."""
    if m.findall(loop.head, m.Continue()):
        return None
    setup = [*loop.setup, statement("seen = 0\n")]
    body = [*loop.body, statement("seen += 1\n"), guarded("seen >= limit", [statement("break\n")])]
    return loop.having(setup=setup, body=body, more=["limit"])


# --- functions


def body_in_helper(loop: Loop) -> Program:
    """All that happens for one batch is a function."""
    helper, use = loop.helper("one_batch", loop.body)
    return loop.having(body=[use], before=[helper])


def body_in_helper_below(loop: Loop) -> Program:
    """The helper stands below its caller, with its own names for the parameters."""
    helper, use = loop.helper("one_batch", loop.body)
    new = Renamed({each.name.value: f"my_{each.name.value}" for each in helper.params.params})
    text = loop.having(body=[use])["train.py"]
    return program(train=[*cst.parse_module(text).body, *each([helper], new)])


def tail_in_helper(loop: Loop) -> Program | None:
    """What comes behind the forward is a function."""
    at = next((number for number, node in enumerate(loop.body) if is_region(node)), None)
    if at is None or at + 1 == len(loop.body):
        return None
    helper, use = loop.helper("learn_from", loop.body[at + 1 :])
    return loop.having(body=[*loop.body[: at + 1], use], before=[helper])


class CallsMoved(cst.CSTTransformer):
    """Each statement that is a call moves into a function of its own."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.helpers: list[Statement] = []

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine:
        if not m.matches(updated_node, m.SimpleStatementLine([m.Expr(m.Call())])):
            return updated_node
        name = f"part_{len(self.helpers)}"
        parameters = list(Names(updated_node).read)
        self.helpers.append(function(name, parameters, [updated_node]))
        return cst.SimpleStatementLine([cst.Expr(call(name, parameters))])


def calls_in_helpers(loop: Loop) -> Program:
    moved = CallsMoved(loop)
    body = each(loop.body, moved)
    return loop.having(body=body, before=moved.helpers)


def forward_in_helper(loop: Loop) -> Program | None:
    """The region and the forward are a function that returns the loss."""
    at = next(number for number, node in enumerate(loop.body) if is_region(node))
    region = cst.ensure_type(loop.body[at], cst.With)
    names = Names(region)
    last = region.body.body[-1]
    if not m.matches(last, m.SimpleStatementLine([m.Assign()])):
        return None
    results = list(names.assigned)
    known = {*loop.made, *loop.parameters, *Names(loop.head.target).read, *Names(*loop.body[:at]).assigned}
    parameters = [name for name in names.read if name in known]
    helper = function("forward", parameters, [region, statement(f"return {', '.join(results)}\n")])
    use = statement(f"{', '.join(results)} = {code(call('forward', parameters))}\n")
    return loop.having(body=[*loop.body[:at], use, *loop.body[at + 1 :]], before=[helper])


def setup_in_factory(loop: Loop) -> Program:
    """Optimizers and scaler come out of a function."""
    factory, use = prepared(loop)
    return loop.having(setup=[use], before=[factory])


def prepared(loop: Loop) -> tuple[cst.FunctionDef, Statement]:
    parameters = [name for name in Names(*loop.setup).read if name in loop.parameters]
    results = ", ".join(loop.made)
    factory = function("prepare", parameters, [*loop.setup, statement(f"return {results}\n")])
    return factory, statement(f"{results} = {code(call('prepare', parameters))}\n")


def setup_by_caller(loop: Loop) -> Program:
    """A main function sets up and hands everything to `train`."""
    main = function("main", loop.parameters, [*loop.setup, called(loop)])
    text = loop.having(setup=[], more=loop.made)["train.py"]
    return program(train=[*cst.parse_module(text).body, main])


def called(loop: Loop) -> Statement:
    return statement(f"return {code(call('train', [*loop.parameters, *loop.made]))}\n")


def body_in_helper_by_keywords(loop: Loop) -> Program:
    """The helper is given everything by keyword, in another order."""
    helper, use = loop.helper("one_batch", loop.body)
    names = [each.name.value for each in helper.params.params]
    by_keyword = call("one_batch", [f"{name}={name}" for name in reversed(names)])
    [use] = each([use], CallReplaced(by_keyword))
    return loop.having(body=[use], before=[helper])


def setup_out_of_sight(loop: Loop) -> Program:
    """Optimizers and scaler are parameters that nobody in sight gives, without annotations."""
    return program(train=[*loop.imports, given(loop)])


def setup_out_of_sight_annotated(loop: Loop) -> Program:
    """The same, annotated for what they are."""
    made = given(loop)
    parameters = [
        each.with_changes(annotation=cst.Annotation(cst.parse_expression(TYPES[role])))
        if (role := each.name.value.rpartition("_")[2]) in TYPES
        else each
        for each in made.params.params
    ]
    return program(train=[*loop.imports, made.with_changes(params=made.params.with_changes(params=parameters))])


TYPES = {"optimizer": "torch.optim.Optimizer", "scaler": "GradScaler"}


def given(loop: Loop) -> cst.FunctionDef:
    """The function, with what the loop never assigns as parameters in the place of its set-up."""
    fixed = unchanging(loop)
    setup = [each for each in loop.setup if set(Names(each).assigned).isdisjoint(fixed)]
    return loop.train(setup=setup, more=fixed)


class CallReplaced(cst.CSTTransformer):
    def __init__(self, new: cst.BaseExpression) -> None:
        self.new = new

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        return self.new


def helper_decorated(loop: Loop) -> Program:
    """The helper for a batch is wrapped by a decorator of the project that passes everything on."""
    helper, use = loop.helper("one_batch", loop.body)
    decorator = statement(DECORATOR)
    imports = [statement("import functools\n")]
    decorated = helper.with_changes(decorators=[cst.Decorator(cst.Name("noted"))])
    return loop.having(body=[use], before=[decorator, decorated], imports=imports)


DECORATOR = """\
def noted(inner):
    @functools.wraps(inner)
    def outer(*args, **kwargs):
        print("called")
        return inner(*args, **kwargs)
    return outer
"""


def as_script(loop: Loop) -> Program:
    """No function at all: everything at module level."""
    given = statement(f"{', '.join(loop.parameters)} = everything_given()\n")
    imports = [*loop.imports, statement("from project import everything_given\n")]
    return program(train=[*imports, given, *loop.setup, loop.head])


def loop_in_closure(loop: Loop) -> Program:
    """The loop runs in a function inside `train`, which sees the variables around it."""
    outer = [name for name in Names(*loop.body).assigned if name in loop.made]
    nonlocals = [statement(f"nonlocal {', '.join(outer)}\n")] if outer else []
    run = function("run", [], [*nonlocals, loop.head])
    return loop.having(loop=[run, statement("run()\n")])


# --- classes and modules


def in_class(loop: Loop) -> Program:
    """`train` is a method; what it was given and what it set up are attributes."""
    return program(train=[*loop.imports, trainer(loop)])


def in_class_by_methods(loop: Loop) -> Program:
    """One method for the epoch, and one for a batch."""
    return program(train=[*loop.imports, trainer(loop, by_methods=True)])


def in_derived_class(loop: Loop) -> Program:
    """The base class, in another file, sets up; the class that derives from it trains."""
    whole = trainer(loop, by_methods=True)
    first, *others = whole.body.body
    base = whole.with_changes(name=cst.Name("Base"), body=block([first]))
    bases = [cst.Arg(cst.Name("Base"))]
    derived = whole.with_changes(bases=bases, lpar=cst.LeftParen(), rpar=cst.RightParen(), body=block(others))
    imports = [*loop.imports, statement("from base import Base\n")]
    return program(base=[*loop.imports, base], train=[*imports, derived])


def trainer(loop: Loop, *, by_methods: bool = False) -> cst.ClassDef:
    own = Renamed({name: f"self.{name}" for name in (*loop.parameters, *loop.made)})
    kept = [statement(f"self.{name} = {name}\n") for name in loop.parameters]
    methods: list[Statement] = [function("__init__", ["self", *loop.parameters], [*kept, *each(loop.setup, own)])]
    body = each(loop.body, own)
    if by_methods:
        batch = list(Names(loop.head.target).read)
        methods.append(function("one_batch", ["self", *batch], each(body, Returning())))
        body = [statement(f"{code(call('self.one_batch', batch))}\n")]
    head = loop.head.with_changes(iter=loop.head.iter.visit(own), body=block(body))
    methods.append(function("train", ["self"], [head, *each(loop.after, own)]))
    return cst.ensure_type(statement("class Trainer:\n    pass\n"), cst.ClassDef).with_changes(body=block(methods))


def over_modules(loop: Loop) -> Program:
    """The set-up in one file, the work on one batch in another, the loop in a third."""
    factory, prepare = prepared(loop)
    helper, use = loop.helper("one_batch", loop.body)
    imports = [statement("import steps\n"), statement("from setup import prepare\n")]
    qualified = Renamed({"one_batch": "steps.one_batch"})
    text = loop.having(setup=[prepare], body=each([use], qualified), imports=imports)
    return text | program(setup=[*loop.imports, factory], steps=[*loop.imports, helper])


# --- a twin in FP32


def twin_of_the_body(loop: Loop) -> Program:
    """`if use_amp:` the body, `else:` the same body in FP32."""
    return loop.having(body=[guarded("use_amp", loop.body, in_float32(loop.body))], more=["use_amp"])


class Unmarked(cst.CSTTransformer):
    """Drops every comment but on a backward that nothing zeroes before: that is wrong in any precision."""

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> bool:
        return not ("AMP212" in code(node) and ".backward(" in code(node))

    def leave_Comment(self, original_node: cst.Comment, updated_node: cst.Comment) -> cst.RemovalSentinel:
        return cst.RemoveFromParent()


class InFloat32(cst.CSTTransformer):
    """The same statements without autocast and scaler."""

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        if m.matches(updated_node, m.Call(m.Attribute(m.Name("scaler"), m.Name("scale")))):
            return updated_node.args[0].value
        if m.matches(updated_node, m.Call(m.Attribute(m.Name("scaler"), m.Name("step")))):
            return call(f"{code(updated_node.args[0].value)}.step")
        return updated_node

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.RemovalSentinel:
        return cst.RemoveFromParent() if "scaler" in Names(updated_node).read else updated_node

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If | cst.RemovalSentinel:
        return cst.RemoveFromParent() if "scaler" in Names(updated_node).read else updated_node

    def leave_With(
        self, original_node: cst.With, updated_node: cst.With
    ) -> cst.With | cst.FlattenSentinel[cst.BaseStatement]:
        return cst.FlattenSentinel(updated_node.body.body) if is_region(updated_node) else updated_node


def in_float32(body: Iterable[Statement]) -> list[Statement]:
    return each(body, Unmarked(), InFloat32())


def twin_of_the_loop(loop: Loop) -> Program:
    """Two whole loops, one for each precision."""
    plain = loop.head.with_changes(body=block(in_float32(loop.body)))
    return loop.having(loop=[guarded("use_amp", [loop.head], [plain])], more=["use_amp"])


def twin_by_statement(loop: Loop) -> Program:
    """Every statement that AMP changes asks `use_amp` again."""
    return loop.having(body=branched(loop.body, "use_amp"), more=["use_amp"])


def twin_without_scaler(loop: Loop) -> Program | None:
    """The scaler is None in FP32, and every statement asks whether it is there."""
    if "scaler" not in loop.made:
        return None
    setup = each(loop.setup, SetUpBy('GradScaler("cuda") if use_amp else None'))
    return loop.having(setup=setup, body=branched(loop.body, "scaler is not None"), more=["use_amp"])


class SetUpBy(cst.CSTTransformer):
    """Another expression in the place of `GradScaler("cuda")`."""

    def __init__(self, expression: str) -> None:
        self.expression = expression

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        found = m.matches(updated_node, m.Call(m.Name("GradScaler")))
        return cst.parse_expression(self.expression) if found else updated_node


def branched(body: Iterable[Statement], condition: str) -> list[Statement]:
    """Each statement with a scaler, a region or a mark stands in an `if` of its own."""
    found: list[Statement] = []
    for node in body:
        differs = "scaler" in Names(node).read or is_region(node) or "# expect" in code(node)
        found.append(guarded(condition, [node], in_float32([node])) if differs else node)
    return found


class Switched(cst.CSTTransformer):
    """`enabled=use_amp` for every region and scaler."""

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        if m.matches(updated_node, m.Call(m.Name("autocast") | m.Name("GradScaler"))):
            enabled = cst.Arg(
                cst.Name("use_amp"),
                cst.Name("enabled"),
                cst.AssignEqual(whitespace_before=cst.SimpleWhitespace(""), whitespace_after=cst.SimpleWhitespace("")),
            )
            return updated_node.with_changes(args=[*updated_node.args, enabled])
        return updated_node


def switched_by_enabled(loop: Loop) -> Program:
    """One code for both precisions: `enabled=use_amp`."""
    return loop.having(setup=each(loop.setup, Switched()), body=each(loop.body, Switched()), more=["use_amp"])


Transformation = Callable[[Loop], Program | None]

TRANSFORMATIONS: dict[str, Transformation] = {
    made.__name__: made
    for made in (
        as_written,
        variables_renamed,
        annotated_with_any,
        beside_an_unrelated_file,
        imported_as_modules,
        old_interface,
        setup_aliased,
        state_in_dataclass,
        state_in_namespace,
        state_in_dict,
        scaled_loss_in_variable,
        region_in_variable,
        verbs_in_variables,
        logged_between,
        independent_swapped,
        zeroed_behind_forward,
        batches_by_while,
        in_epochs,
        in_try_finally,
        in_nullcontext,
        early_continue,
        early_stop,
        body_in_helper,
        body_in_helper_below,
        body_in_helper_by_keywords,
        helper_decorated,
        tail_in_helper,
        calls_in_helpers,
        forward_in_helper,
        setup_in_factory,
        setup_by_caller,
        setup_out_of_sight,
        setup_out_of_sight_annotated,
        as_script,
        loop_in_closure,
        in_class,
        in_class_by_methods,
        in_derived_class,
        over_modules,
        twin_of_the_body,
        twin_of_the_loop,
        twin_by_statement,
        twin_without_scaler,
        switched_by_enabled,
    )
}
