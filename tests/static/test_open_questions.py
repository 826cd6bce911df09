"""Where a rule's subject is in a program and cannot be followed, that is listed; where it is told, nothing is."""

from __future__ import annotations

import textwrap

import pytest

from verifygate.config.rule_selection import RuleSelection
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse


def gaps(text: str) -> list[tuple[str, int, str]]:
    sources = Sources([SourceFile("train.py", textwrap.dedent(text).encode())])
    return [(gap.rule, gap.line, gap.reason) for gap in analyse(sources, RuleSelection()).not_followed]


LOOP = """
    for x, y in rows:
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()
"""
HEAD = "import copy\nimport torch\nfrom torch import nn; KINDS = (torch.bfloat16, torch.float16)\n"


def trained(made: str, *, given: str = "", optimizer: str = "torch.optim.AdamW(net.parameters(), lr=1e-5)") -> str:
    return f"{HEAD}\ndef train(net, rows{given}):\n    {made}\n    optimizer = {optimizer}\n{LOOP}"


@pytest.mark.parametrize(
    ("made", "given"),
    [
        ("net = net.to(kind)", ", kind=torch.bfloat16"),
        ("net.to(rows.device, weight_type)", ", weight_type=None"),
        ("net = net.to(dtype=kind)", ", kind=None"),
        ("net = nn.Linear(4, 4, dtype=kind)", ", kind=None"),
    ],
)
def test_a_cast_whose_dtype_is_not_told(made: str, given: str):
    ((rule, line, reason),) = gaps(trained(made, given=given))

    assert (rule, line) == ("AMP701", 6)
    assert reason == "whether the weights of `net` are half by this cast cannot be told"


@pytest.mark.parametrize(
    "made",
    ["net = net.to(device)", "net = net.to(rows.where)", 'net = net.to("cuda")', "net = net.to(torch.float32)"],
)
def test_a_move_and_a_dtype_that_is_told_are_followed(made: str):
    assert gaps(trained(made, given=", device=None")) == []


@pytest.mark.parametrize(
    ("dtype", "made"),
    [
        ("float16", "torch.optim.AdamW(net.parameters(), lr=1e-5, eps=1e-4)"),
        ("bfloat16", "torch.optim.SGD(net.parameters(), lr=1e-3)"),
    ],
)
def test_half_weights_of_which_no_table_says_what_a_step_loses(dtype: str, made: str):
    name = made.removeprefix("torch.optim.").partition("(")[0]
    reason = f"how much of what `{name}` steps is lost in {dtype} weights is not judged"

    assert gaps(trained(f"net = net.to(torch.{dtype})", optimizer=made)) == [("AMP701", 7, reason)]


def test_a_module_that_casts_itself_has_half_weights():
    text = f"""{HEAD}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.half()

    def forward(self, x):
        return self.body(x)

def train(rows):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
{LOOP}"""

    assert gaps(text) == [("AMP701", 16, "how much of what `SGD` steps is lost in float16 weights is not judged")]
    assert gaps(text.replace("        self.half()\n", "")) == []
    perhaps = text.replace("self.half()", "if torch.cuda.is_available(): self.half()")
    assert gaps(perhaps) == [("AMP701", 9, "whether the weights of `net` are half by this cast cannot be told")]


def test_parameters_that_are_halved_one_by_one():
    text = trained("net.apply(shrink)").replace(
        "\ndef train",
        "\ndef shrink(layer):\n    layer.weight.data = layer.weight.data.half()\n\ndef train",
    )

    assert gaps(text) == [("AMP701", 6, "whether the weights that this makes half are trained cannot be told")]
    assert gaps(text.replace(".data.half()", ".data.float()")) == []


AVERAGE = f"""{HEAD}
class Slow:
    def __init__(self, net, keep=0.9999):
        self.net = copy.deepcopy(net){{cast}}
        {{later}}
        self.keep = keep

    def follow(self, net):
        for mine, new in zip(self.net.parameters(), net.parameters()):
            mine.mul_({{keep}}).add_(new, alpha=0.5)
"""


@pytest.mark.parametrize(
    ("cast", "later", "keep", "line", "reason"),
    [
        (".half()", "pass", "self.keep", 13, "how much `mine.mul_(self.keep).add_(new, alpha=0.5)` takes of new"),
        ("", "self.net.half()", "0.9999", 8, "whether the weights of `self.net` are half by this cast"),
    ],
)
def test_an_average_that_cannot_be_followed(cast: str, later: str, keep: str, line: int, reason: str):
    ((_, at, said),) = gaps(AVERAGE.format(cast=cast, later=later, keep=keep))

    assert at == line
    assert said.startswith(reason)


def test_an_average_in_float32_is_followed():
    assert gaps(AVERAGE.format(cast="", later="pass", keep="self.keep")) == []


def test_an_average_of_half_weights_in_a_container():
    text = f"""{HEAD}
class Mean:
    def __init__(self, net):
        self.kept = {{name: each.clone() for name, each in net.state_dict().items()}}

    def update(self, net, keep):
        for name, value in net.state_dict().items():
            self.kept[name].lerp_(value, 1 - keep)

def train(net):
    net = net.half()
    Mean(net).update(net, 0.9999)
"""
    reason = "whether `self.kept[name].lerp_(value, 1 - keep)` moves an average in float16 cannot be told"

    assert gaps(text) == [("AMP702", 11, reason)]
    assert gaps(text.replace("net.half()", "net.float()")) == []


@pytest.mark.parametrize(("given", "is_open"), [("kinds[name]", True), ("given", True), ("torch.float32", False)])
def test_a_policy_that_a_setting_decides(given: str, is_open: bool):
    text = f"""
        import torch
        from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision

        kinds = {{"fp32": torch.float32, "bf16": torch.bfloat16}}

        def shard(net, name, given):
            policy = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype={given})
            return FullyShardedDataParallel(net, mixed_precision=policy)
        """
    reason = "in which dtype ranks add up their gradients by this policy is decided when the program starts"

    assert gaps(text) == ([("AMP803", 8, reason)] if is_open else [])


SPLIT = f"""{HEAD}
def train(net, other, rows):
    first = torch.optim.SGD({{mine}}, lr=0.1)
    second = torch.optim.SGD([p for p in net.parameters() if p.ndim != 2], lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in rows:
        first.zero_grad()
        second.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(second)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(first)
        {{between}}
        scaler.step(second)
        scaler.update()
"""


def test_a_clip_over_what_several_optimizers_share():
    reason = "which of these gradients are unscaled: several optimizers have parts of these parameters"
    both = "[p for p in net.parameters() if p.ndim == 2]"

    assert ("AMP201", 16, reason) in gaps(SPLIT.format(mine=both, between="scaler.update()"))
    assert all(each[0] != "AMP201" for each in gaps(SPLIT.format(mine=both, between="")))
    assert all(each[0] != "AMP201" for each in gaps(SPLIT.format(mine="other.parameters()", between="")))


FUNCTION = f"""{HEAD}
class Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return torch.matmul(x, weight.to(x.dtype).t())

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight{{cast}}, grad.t() @ x

def train(weight, optimizer, rows):
    for x in rows:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = Times.apply(x, weight).mean()
        loss.backward()
        optimizer.step()
"""


def test_a_function_of_autograd_that_casts_in_its_forward_alone():
    reason = "whether the casts of `Times` in its forward are all that its backward needs"

    assert ("AMP109", 5, reason) in gaps(FUNCTION.format(cast=""))
    assert all(each[0] != "AMP109" for each in gaps(FUNCTION.format(cast=".to(grad.dtype)")))


TRACKED = f"""{HEAD}
class Tracker{{base}}:
    def log(self, name):
        {{body}}

def epoch(net, optimizer, scaler, rows, tracker):
    for x in rows:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(x).mean()
        scaler.scale(loss).backward()
        tracker.log_scalar("loss")
        scaler.step(optimizer)
        scaler.update()

def main(net, rows):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    epoch(net, optimizer, torch.amp.GradScaler("cuda"), rows, {{given}})
"""


@pytest.mark.parametrize(
    ("base", "body", "given", "is_open"),
    [
        ("", "print(name)", "Tracker()", True),
        ("", "print(name)", "rows.tracker", False),
        ("", "self.log_scalar = print", "Tracker()", False),
        ("", "setattr(self, name, print)", "Tracker()", False),
        ("(nn.Module)", "print(name)", "Tracker()", False),
    ],
)
def test_a_method_that_no_class_in_sight_has(base: str, body: str, given: str, is_open: bool):
    reason = "what `tracker.log_scalar` does: `Tracker`, which `tracker` is, has no `log_scalar`"

    assert (("KEY101", 15, reason) in gaps(TRACKED.format(base=base, body=body, given=given))) is is_open


def test_a_cast_that_a_finding_tells_of_is_not_open_as_well():
    text = f"""{HEAD}
class Trainer:
    def __init__(self, net):
        self.net = net
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")

    def prepare(self):
        self.net.half()

    def step(self, batch):
        self.scaler.scale(self.net(batch).mean()).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
"""
    outcome = analyse(Sources([SourceFile("train.py", text.encode())]), RuleSelection())

    assert [(each.rule, each.line) for each in outcome.findings if each.rule == "AMP401"] == [("AMP401", 12)]
    assert [gap for gap in outcome.not_followed if gap.line == 12] == []
