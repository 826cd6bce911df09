"""A grammar of programs that train with mixed precision: right, wrong, and in all the forms that Python allows.

Every choice is drawn from a `random.Random`: hypothesis gives one that it can shrink, a campaign a seeded one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

IMPORTS = (
    "import torch",
    "import torch\nfrom torch.amp import GradScaler, autocast",
    "from torch.cuda.amp import autocast, GradScaler\nimport torch",
    "import torch as t, torch\nfrom torch import amp as precision",
    "import torch\ntry:\n    from torch.amp import GradScaler\nexcept ImportError:\n    GradScaler = None",
)
SCALERS = (
    'scaler = torch.amp.GradScaler("cuda")',
    "scaler = GradScaler(enabled=use_amp)",
    "scaler = torch.cuda.amp.GradScaler(init_scale=2.0**16, growth_interval=100) if use_amp else None",
    "scaler: object = torch.GradScaler()",
    "scaler = (made := torch.amp.GradScaler('cuda'))",
    "state = {'scaler': torch.amp.GradScaler('cuda')}; scaler = state['scaler']",
    "scaler, *rest = [torch.amp.GradScaler('cuda'), None]",
    "scaler = None",
)
REGIONS = (
    'torch.autocast("cuda", dtype=torch.float16)',
    'torch.autocast(device_type="cpu", dtype=torch.bfloat16, enabled=use_amp)',
    "torch.cuda.amp.autocast()",
    'torch.autocast("cuda", dtype=torch.float16), torch.enable_grad()',
    "(torch.autocast('cuda') if use_amp else contextlib.nullcontext())",
    "torch.no_grad()",
)
FORWARD = (
    "loss = loss_fn(model(inputs), targets)",
    "out = model(inputs); loss = loss_fn(out, targets)",
    "loss = loss_fn(model(inputs).float(), targets) / 4",
    "out = model(inputs.half())\nloss = torch.nn.functional.binary_cross_entropy(out.sigmoid(), targets)",
    "loss = sum((loss_fn(model(x), y) for x, y in zip(inputs, targets)), start=0)",
    "loss, aux = (lambda m: (loss_fn(m(inputs), targets), 0))(model)",
)
STEPS = (
    "optimizer.zero_grad(set_to_none=True)",
    "scaler.scale(loss).backward()",
    "loss.backward()",
    "scaler.unscale_(optimizer)",
    "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    "torch.nn.utils.clip_grad_value_(list(model.parameters()), clip_value=0.5)",
    "scaler.step(optimizer)",
    "optimizer.step()",
    "scaler.update()",
    "scheduler.step()",
    "norm = sum(p.grad.norm() ** 2 for p in model.parameters() if p.grad is not None)",
    "for p in model.parameters():\n    p.grad.div_(world)",
    "total += loss.item()",
    "print(f'{step}: {loss.item():.3f} {scaler.get_scale()}')",
    "torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict()}, 'last.pt')",
    "model.load_state_dict(torch.load('last.pt'))",
    "ema.mul_(0.999).add_(loss.detach())",
    "torch.cuda.synchronize()",
    "(scaler.step if use_amp else step_all)(optimizer)",
    "getattr(scaler, 'update')()",
    "optimizers = [optimizer, other]\n[scaler.step(each) for each in optimizers]",
    "global_step += 1",
    "del loss",
    "assert scaler.is_enabled() or not use_amp, 'no scaler'",
    "pass",
)
ODD = (
    '"""\ndef train(scaler):\n    scaler.step(optimizer)\n"""',
    "x = r'''\n# verifygate: ignore[AMP201] not a comment\n'''",
    "y = 1 \\\n    + 2",
    "matrix = [\n    1,\n2,\n]",
    "# verifygate: ignore[AMP201] measured, and clipped on purpose",
    "# verifygate: ignore[] ",
    "z = 'a' 'b' f\"{'q'}\" rb''[0:0].decode()",
    "a = b = c = 0; a, (b, *c) = 1, (2, 3)",
    "größe = len(name) if (name := 'ß') else 0",
    "type Pair[T] = tuple[T, T]",
    "def generic[T: int](x: T) -> T: return x",
    "print(f'{f\"{1}\"}')",
    "lst = [*range(3), *(i async for i in rows)] if False else []",
    "exec('scaler = torch.amp.GradScaler()')",
    "if __name__ == '__main__':\n    train(None, [], None)",
    "@decorated(\n    scaler=None,\n)\ndef made():\n    yield scaler.scale(loss)",
    "class Config:\n    fp16: bool = True; precision = '16-mixed'",
    "trainer = Trainer(precision='16-mixed', gradient_clip_val=1.0)\ntrainer.fit(model)",
    "accelerator = Accelerator(mixed_precision='fp16')\naccelerator.backward(loss)",
    "torch.backends.cuda.matmul.allow_tf32 = True",
    "model = model.half()",
    "model.to(dtype=torch.bfloat16)",
)
Lines = list[str]


def program(random: Random) -> str:
    """One module, mostly with a training loop in it."""
    parts = [random.choice(IMPORTS)]
    if random.random() < 0.3:
        parts.append(random.choice(("import contextlib", "from contextlib import *", "from helpers import *")))
    for _ in range(random.randrange(1, 4)):
        parts.append("\n".join(random.choice((_function, _class, _module_code, _odd))(random)))
    text = "\n\n".join(parts) + "\n"
    return random.choice(_STYLES)(text) if random.random() < 0.2 else text


def _function(random: Random) -> Lines:
    name = random.choice(("train", "train_epoch", "main", "test_train", "helper"))
    head = "async def" if random.random() < 0.05 else "def"
    parameters = "model, batches, loss_fn, optimizer=None, *, use_amp=True, scaler=None"
    if random.random() < 0.2:
        parameters = "self_or_cls, /, *args, **kwargs"
    decorator = (
        [random.choice(("@torch.no_grad()", "@torch.compile", "@staticmethod"))] if random.random() < 0.1 else []
    )
    return [*decorator, f"{head} {name}({parameters}):", *_indented(_training(random))]


def _class(random: Random) -> Lines:
    base = random.choice(("", "(torch.nn.Module)", "(LightningModule)", "(Base, metaclass=Meta)"))
    setup = [f"self.{line}" if line.startswith("scaler =") else line for line in _setup(random)]
    body = [line.replace("scaler.", "self.scaler.") for line in _loop(random)]
    return [
        f"class Trainer{base}:",
        *_indented(["def __init__(self, model, optimizer, use_amp=True):", *_indented(setup)]),
        *_indented(["def train(self, model, batches, loss_fn, optimizer):", *_indented(body)]),
    ]


def _module_code(random: Random) -> Lines:
    return _training(random)


def _odd(random: Random) -> Lines:
    return random.choice(ODD).split("\n")


def _training(random: Random) -> Lines:
    end = random.choice(("return total", "return", "yield loss", "raise StopIteration", "pass"))
    inside = random.random() < 0.8
    return [*_setup(random), *_loop(random), *([end] if inside and end == "pass" else [])]


def _setup(random: Random) -> Lines:
    made = [
        random.choice(SCALERS),
        "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)",
        "scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)",
        "total = step = global_step = 0",
    ]
    random.shuffle(made)
    return made[: random.randrange(1, len(made) + 1)]


def _loop(random: Random) -> Lines:
    heads = (
        "for step, (inputs, targets) in enumerate(batches):",
        "for inputs, targets in batches:",
        "while (batch := next(batches, None)) is not None:",
        "for epoch in range(10):\n    for inputs, targets in batches:",
    )
    head = random.choice(heads).split("\n")
    body = _indented(_body(random), len(head))
    tail = ["else:", "    scaler.update()"] if random.random() < 0.05 else []
    return [*head, *body, *tail]


def _body(random: Random) -> Lines:
    """A step of the loop: mostly the protocol, with statements left out, doubled, moved and wrapped."""
    region = [f"with {random.choice(REGIONS)}:", *_indented(random.choice(FORWARD).split("\n"))]
    right = [STEPS[0], STEPS[1], STEPS[3], STEPS[4], STEPS[6], STEPS[8]]
    blocks = [region, *(each.split("\n") for each in right)]
    for _ in range(random.randrange(4)):
        change = random.randrange(5)
        at = random.randrange(len(blocks))
        if change == 0:
            del blocks[at]
        elif change == 1:
            blocks.insert(random.randrange(len(blocks)), blocks.pop(at))
        elif change == 2:
            blocks.insert(at, random.choice(STEPS).split("\n"))
        elif change == 3:
            last = min(len(blocks), at + random.randrange(1, 4))
            blocks[at:last] = [_wrapped(random, [line for block in blocks[at:last] for line in block])]
        else:
            blocks.insert(at, random.choice(ODD).split("\n"))
        blocks = blocks or [["pass"]]
    return [line for block in blocks for line in block]


def _wrapped(random: Random, lines: Lines) -> Lines:
    wraps: Sequence[Callable[[Lines], Lines]] = (
        lambda body: ["if use_amp:", *_indented(body), "else:", "    loss.backward(); optimizer.step()"],
        lambda body: ["if (step + 1) % 4 == 0:", *_indented(body)],
        lambda body: ["try:", *_indented(body), "except RuntimeError as error:", "    continue"],
        lambda body: ["try:", *_indented(body), "finally:", "    scaler.update()"],
        lambda body: ["match scaler:", "    case None: pass", "    case _:", *_indented(body, 2)],
        lambda body: ["def inner():", *_indented([*body, "return loss"]), "inner()"],
        lambda body: ["with torch.autocast('cuda'), open('log') as log:", *_indented(body)],
        lambda body: ["if not torch.isfinite(loss):", "    continue", *body],
        lambda body: ["while True:", *_indented([*body, "break"])],
    )
    return random.choice(wraps)(lines)


def _indented(lines: Sequence[str], levels: int = 1) -> Lines:
    """Each statement further in; lines of a string or a bracket move with it, which changes no meaning here."""
    return ["    " * levels + part for line in lines for part in line.split("\n")]


_STYLES: tuple[Callable[[str], str], ...] = (
    lambda text: text.replace("\n", "\r\n"),
    lambda text: text.replace("    ", "\t"),
    lambda text: text.replace("\n\n", "\n\f\n", 1),
    lambda text: "\ufeff" + text,
    lambda text: "# -*- coding: latin-1 -*-\n" + text,
    lambda text: text.rstrip("\n"),
    lambda text: text.replace("\n", "  # noqa: AMP201\n", 3),
    lambda text: text.replace("):\n", ")  :\n"),
)
