"""Ten shapes of public trainers, in our own words: each line that ends in `# call` is a call of the protocol.

`takes` names what each such call is found by when it is taken out, in the order of the lines: rules of which one has to
be certain; NEVER_STEPS where the program steps no more.
"""

from __future__ import annotations

ZERO = ("AMP212",)
UNSCALE = ("AMP201",)
STEP = ("AMP210", "AMP212", "AMP203", "AMP202")
UPDATE = ("AMP209", "AMP202")
NEVER_STEPS: tuple[str, ...] = ()
"""What unscales, updates and never steps is legal for torch, and no rule is about it: it trains nothing."""

HEAD = """import torch
from torch import nn
"""

SHAPES: dict[str, tuple[str, tuple[tuple[str, ...], ...]]] = {}


def shape(name: str, text: str, *takes: tuple[str, ...]) -> None:
    SHAPES[name] = (HEAD + text, takes)


shape(
    "plain function",
    """
def fit(net, data):
    opt = torch.optim.AdamW(net.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for x, y in data:
        opt.zero_grad()  # call
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)  # call
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(opt)  # call
        scaler.update()  # call
""",
    ZERO,
    UNSCALE,
    NEVER_STEPS,
    UPDATE,
)
shape(
    "trainer with a method for the step, accumulation and warm-up",
    """
class Trainer:
    def __init__(self, net, cfg):
        self.net, self.cfg = net, cfg
        self.optimizer = torch.optim.SGD(net.parameters(), cfg.lr)
        self.scaler = torch.amp.GradScaler("cuda", enabled=cfg.amp)
        self.ema = cfg.ema

    def optimizer_step(self):
        self.scaler.unscale_(self.optimizer)  # call
        nn.utils.clip_grad_norm_(self.net.parameters(), 10.0)
        self.scaler.step(self.optimizer)  # call
        self.scaler.update()  # call
        self.optimizer.zero_grad()  # call
        if self.ema:
            self.ema.update(self.net)

    def train(self, loader):
        last = -1
        for epoch in range(self.cfg.epochs):
            self.net.train()
            for i, (x, y) in enumerate(loader):
                ni = i + len(loader) * epoch
                if ni <= self.cfg.warmup:
                    self.accumulate = max(1, ni // 10)
                    for group in self.optimizer.param_groups:
                        group["lr"] = ni / self.cfg.warmup
                with torch.autocast("cuda", enabled=self.cfg.amp):
                    self.loss = nn.functional.mse_loss(self.net(x), y)
                    if self.cfg.ranks > 1:
                        self.loss = self.loss * self.cfg.ranks
                self.scaler.scale(self.loss).backward()
                if ni - last >= self.accumulate:
                    self.optimizer_step()
                    last = ni
                    if self.cfg.time and self.stop:
                        break
                if self.cfg.plots and i in self.cfg.shown:
                    self.plot(x)
            if self.cfg.save or epoch == self.cfg.epochs - 1:
                torch.save(self.net.state_dict(), "last.pt")
""",
    UNSCALE,
    NEVER_STEPS,
    UPDATE,
    ZERO,
)
shape(
    "accumulation of a language model, with a region that may be nothing",
    """
from contextlib import nullcontext


def pretrain(model, batches, cfg):
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    scaler = torch.amp.GradScaler("cuda", enabled=(cfg.dtype == "float16"))
    ctx = nullcontext() if cfg.device == "cpu" else torch.autocast("cuda", dtype=torch.float16)
    while True:
        for micro in range(cfg.accumulate):
            x, y = next(batches)
            with ctx:
                logits, loss = model(x, y)
                loss = loss / cfg.accumulate
            scaler.scale(loss).backward()
        if cfg.clip != 0.0:
            scaler.unscale_(optimizer)  # call
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.clip)
        scaler.step(optimizer)  # call
        scaler.update()  # call
        optimizer.zero_grad(set_to_none=True)  # call
        if cfg.done:
            break
""",
    UNSCALE,
    STEP,
    UPDATE,
    ZERO,
)
shape(
    "two networks against each other",
    """
def adversarial(gen, critic, data):
    opt_g = torch.optim.Adam(gen.parameters())
    opt_c = torch.optim.Adam(critic.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for real, noise in data:
        opt_c.zero_grad()
        with torch.autocast("cuda"):
            fake = gen(noise)
            loss_c = critic(fake.detach()).mean() - critic(real).mean()
        scaler.scale(loss_c).backward()
        scaler.unscale_(opt_c)  # call
        nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
        scaler.step(opt_c)
        opt_g.zero_grad()
        with torch.autocast("cuda"):
            loss_g = -critic(fake).mean()
        scaler.scale(loss_g).backward()
        scaler.step(opt_g)
        scaler.update()  # call
""",
    UNSCALE,
    UPDATE,
)
shape(
    "a step that a helper takes, with optional clipping",
    """
def take_step(scaler, optimizer, params, limit):
    if limit is not None:
        scaler.unscale_(optimizer)  # call
        nn.utils.clip_grad_value_(params, limit)
    scaler.step(optimizer)  # call
    scaler.update()  # call


def run(net, optimizer, scaler, data, limit):
    for x, y in data:
        with torch.autocast("cuda"):
            loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()  # call
        scaler.scale(loss).backward()
        take_step(scaler, optimizer, net.parameters(), limit)
""",
    UNSCALE,
    STEP,
    UPDATE,
    ZERO,
)
shape(
    "a scaler of its own that is called like a function",
    """
class LossScaler:
    def __init__(self):
        self._scaler = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer, clip, parameters, update):
        self._scaler.scale(loss).backward()
        if update:
            self._scaler.unscale_(optimizer)  # call
            nn.utils.clip_grad_norm_(parameters, clip)
            self._scaler.step(optimizer)  # call
            self._scaler.update()  # call


def epoch(net, optimizer, data, every):
    scaled = LossScaler()
    optimizer.zero_grad()
    for step, (x, y) in enumerate(data):
        with torch.autocast("cuda"):
            loss = nn.functional.cross_entropy(net(x), y) / every
        last = (step + 1) % every == 0
        scaled(loss, optimizer, 1.0, net.parameters(), last)
        if last:
            optimizer.zero_grad()  # call
""",
    UNSCALE,
    NEVER_STEPS,
    UPDATE,
    ZERO,
)
shape(
    "a switch between two precisions",
    """
def train(net, data, amp):
    opt = torch.optim.SGD(net.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cuda") if amp else None
    for x, y in data:
        opt.zero_grad()
        if amp:
            with torch.autocast("cuda"):
                loss = nn.functional.mse_loss(net(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)  # call
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(opt)  # call
            scaler.update()  # call
        else:
            loss = nn.functional.mse_loss(net(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
""",
    UNSCALE,
    NEVER_STEPS,
    UPDATE,
)
shape(
    "optional losses, each with a backward",
    """
def restore(net, data, cfg):
    opt = torch.optim.Adam(net.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for low, high in data:
        opt.zero_grad()  # call
        with torch.autocast("cuda"):
            out = net(low)
            pixel = (out - high).abs().mean()
        scaler.scale(pixel).backward(retain_graph=True)
"""
    + "".join(
        f"        if cfg.use_{name}:\n            scaler.scale(cfg.{name}(out, high)).backward(retain_graph=True)\n"
        for name in ("edge", "colour", "style", "texture", "depth", "sharp", "flow", "mask", "prior")
    )
    + """        scaler.unscale_(opt)  # call
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        scaler.step(opt)  # call
        scaler.update()  # call
""",
    ZERO,
    UNSCALE,
    NEVER_STEPS,
    UPDATE,
)
shape(
    "several optimizers in a list",
    """
def joint(net, data):
    opts = [torch.optim.SGD(net.body.parameters(), 0.1), torch.optim.Adam(net.head.parameters())]
    scaler = torch.amp.GradScaler("cuda")
    for x, y in data:
        for opt in opts:
            opt.zero_grad()  # call
        with torch.autocast("cuda"):
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        for opt in opts:
            scaler.unscale_(opt)  # call
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        for opt in opts:
            scaler.step(opt)
        scaler.update()  # call
""",
    ZERO,
    UNSCALE,
    UPDATE,
)
shape(
    "names that say nothing",
    """
class A:
    def __init__(self, a, b, c: object):
        self.a, self.b, self.c = a, b, c

    def d(self, e):
        for f, g in e:
            self.b.zero_grad()  # call
            with torch.autocast("cuda"):
                h = nn.functional.mse_loss(self.a(f), g)
            self.c.scale(h).backward()
            self.c.unscale_(self.b)  # call
            nn.utils.clip_grad_norm_(self.a.parameters(), 1.0)
            self.c.step(self.b)  # call
            self.c.update()  # call
""",
    ZERO,
    UNSCALE,
    NEVER_STEPS,
    UPDATE,
)
