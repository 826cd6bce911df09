"""Programs whose numbers break, and their mended twins: `python programs.py faulty|mended`. A case is one step.

A line that ends in `# BREAKS operator limit` is where the step breaks; `scale` behind it says that the loss scale is
the cause, and not the model.
"""

import sys
from types import SimpleNamespace

import torch
from torch import nn

F = nn.functional
MENDED = sys.argv[1:] == ["mended"]
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def parameter(*shape, value=None):
    made = torch.randn(*shape) if value is None else torch.full(shape, float(value))
    return nn.Parameter(made.cuda())


def data(*shape, value=None):
    return parameter(*shape, value=value).detach()


def in_region(compute):
    with torch.autocast("cuda", dtype=torch.float16):
        return compute()


@case
def attention_scores(p):
    p.w = parameter(16, 64)
    x = data(4, 8, 16) * (1 if MENDED else 100)
    with torch.autocast("cuda", dtype=torch.float16):
        q = x @ p.w
        scores = q @ q.transpose(1, 2)  # BREAKS bmm overflow
        return scores.softmax(-1).mean() + scores.float().mean() * 0


@case
def exponential(p):
    p.w = parameter(8, 8, value=2)
    x = data(4, 8, value=1)
    with torch.autocast("cuda", dtype=torch.float16):
        h = (x @ p.w).float() if MENDED else x @ p.w
    return torch.exp(h).float().mean() / 1e7  # BREAKS exp overflow


@case
def sum_over_a_large_batch(p):
    p.w = parameter(8, 8, value=1)
    with torch.autocast("cuda", dtype=torch.float16):
        h = data(1024, 8, value=4) @ p.w
    total = h.float().sum() if MENDED else h.sum()  # BREAKS sum overflow
    return total.float() / 1e6


@case
def unnormalised_loss(p):
    p.w = parameter(16, 1, value=1)
    with torch.autocast("cuda", dtype=torch.float16):
        h = data(64, 16, value=30) @ p.w
        target = data(64, 1, value=0)
    error = (h.float() if MENDED else h) - target.to(h.dtype)
    return ((error * error).float().mean()) / 1e6  # BREAKS mul overflow


@case
def softmax_by_hand(p):
    p.w = parameter(8, 8, value=2)
    with torch.autocast("cuda", dtype=torch.float16):
        h = data(4, 8, value=1) @ p.w
    h = h - h.amax(-1, keepdim=True) if MENDED else h
    e = h.exp()  # BREAKS exp overflow
    return (e / e.sum(-1, keepdim=True)).float().mean()


@case
def squared_norm(p):
    p.w = parameter(64, 64, value=1)
    with torch.autocast("cuda", dtype=torch.float16):
        h = data(4, 64, value=5) @ p.w
    h = h.float() if MENDED else h
    return (h * h).sum(-1).float().sqrt().mean() / 1e3  # BREAKS mul overflow


@case
def variance_in_half(p):
    p.w = parameter(8, 8)
    with torch.autocast("cuda", dtype=torch.float16):
        h = data(4, 8, value=1) @ p.w * 400
    h = h.float() if MENDED else h
    centred = h - h.mean(-1, keepdim=True)
    return centred.square().float().mean() / 1e6  # BREAKS pow overflow


@case
def embedding_scale(p):
    p.table = parameter(10, 16, value=40)
    rows = p.table[torch.arange(4).cuda()].half()
    scaled = rows * (4.0 if MENDED else 4096.0)  # BREAKS mul overflow
    return scaled.float().mean() / 1e5


@case
def binary_cross_entropy_by_hand(p):
    p.w = parameter(8, 1, value=4)
    with torch.autocast("cuda", dtype=torch.float16):
        probability = (data(4, 8, value=1) @ p.w).sigmoid()
    probability = probability.float().clamp(max=1 - 1e-6) if MENDED else probability
    return -torch.log(1 - probability).float().mean()  # BREAKS log log-of-zero


@case
def large_learning_rate(p):
    p.w = parameter(8, 8, value=100 if MENDED else 1e6)
    with torch.autocast("cuda", dtype=torch.float16):
        h = data(4, 8, value=1) @ p.w  # BREAKS _to_copy overflow
    return h.float().mean() / 1e6


@case
def corrupt_batch(p):
    p.w = parameter(8, 8)
    x = data(4, 8)
    if not MENDED:
        x[0, 0] = float("nan")  # BREAKS lift_fresh came-in
    with torch.autocast("cuda", dtype=torch.float16):
        return (x @ p.w).float().mean()


@case
def zero_variance(p):
    p.w = parameter(8, 8, value=1)
    with torch.autocast("cuda", dtype=torch.float16):
        h = data(4, 8, value=1) @ p.w
    spread = (h - h.mean(-1, keepdim=True)).abs().mean(-1, keepdim=True)
    h, spread = (h.float(), spread.float()) if MENDED else (h, spread)
    return (h / (spread + (1e-3 if MENDED else 1e-9))).float().mean() / 1e6  # BREAKS div zero-divisor


@case
def root_at_zero(p):
    p.w = parameter(8, value=0)
    return (p.w.square().sum() + (1e-12 if MENDED else 0)).sqrt()  # BREAKS div zero-divisor


@case
def count_of_zero(p):
    p.w = parameter(8, 8)
    valid = torch.zeros(4, device=p.w.device)
    loss = (data(4, 8) @ p.w).mean(-1)
    count = valid.sum().clamp(min=1) if MENDED else valid.sum()
    return (loss * valid).sum() / count  # BREAKS div zero-divisor


@case
def row_masked_as_a_whole(p):
    p.w = parameter(8, 8)
    scores = data(2, 8) @ p.w
    mask = torch.zeros(2, 8, dtype=torch.bool, device=p.w.device)
    mask[0] = not MENDED
    mask[1, :4] = True
    return scores.masked_fill(mask, float("-inf")).softmax(-1).mean()  # BREAKS _softmax not-a-number


@case
def moving_average_in_half(p):
    p.w = parameter(8, 8, value=1)
    with torch.autocast("cuda", dtype=torch.float16):
        h = data(4, 8, value=1) @ p.w
    average = torch.full((8,), 60000.0, device=h.device).to(torch.float32 if MENDED else torch.float16)
    average = average * 2 + h.detach().mean(0).to(average.dtype)  # BREAKS mul overflow
    return (h.float() * average.float()).mean() / 1e6


@case
def loss_of_a_discriminator(p):
    p.w = parameter(8, 1, value=16)
    with torch.autocast("cuda", dtype=torch.float16):
        logit = data(4, 8, value=1) @ p.w
    if MENDED:
        return F.softplus(logit.float()).mean()
    return torch.log1p(logit.exp()).float().mean()  # BREAKS exp overflow


@case
def norm_at_zero(p):
    p.w = parameter(8, value=0)
    direction = p.w / (p.w.norm() + (1e-6 if MENDED else 0))  # BREAKS div zero-divisor
    return direction.sum()


@case
def power_of_a_small_number(p):
    p.w = parameter(8, value=0)
    return (p.w.abs() + (1e-6 if MENDED else 0)).pow(-0.5).mean() / 1e3  # BREAKS pow zero-divisor


@case
def reciprocal_of_an_underflow(p):
    p.w = parameter(8, value=1e-4)
    small = (p.w if MENDED else p.w.half()) ** 2
    return small.reciprocal().float().mean() / 1e9  # BREAKS reciprocal zero-divisor


@case
def cosine_by_hand(p):
    p.w = parameter(8, 8, value=0)
    with torch.autocast("cuda", dtype=torch.float16):
        a = data(4, 8) @ p.w
    length = (a.float() * a.float()).sum(-1).clamp(min=1.0 if MENDED else 0.0)
    return (a.float().sum(-1) / length).mean()  # BREAKS div zero-divisor


@case
def gaussian_likelihood(p):
    p.log_variance = parameter(8, value=-14)
    variance = (p.log_variance if MENDED else p.log_variance.half()).exp()
    residual = data(8, value=3).to(variance.dtype)
    return (residual.square() / variance).float().mean() / 1e8  # BREAKS div overflow


@case
def depth_to_disparity(p):
    p.w = parameter(8, value=1e-5)
    depth = p.w if MENDED else p.w.half()
    return (1.0 / depth).float().mean() / 1e6  # BREAKS reciprocal overflow


@case
def cumulative_product(p):
    p.w = parameter(64, value=1.5)
    factors = p.w if MENDED else p.w.half()
    return factors.cumprod(0)[-1].float() / 1e12  # BREAKS cumprod overflow


@case
def entropy_of_a_hard_choice(p):
    p.w = parameter(8, 4, value=0)
    with torch.autocast("cuda", dtype=torch.float16):
        logits = data(4, 8, value=1) @ p.w + torch.tensor([0.0, 60.0, 0, 0], device=p.w.device)
    q = logits.softmax(-1).to(torch.float32 if MENDED else torch.float16)
    return -(q * (q + (1e-9 if MENDED else 0)).log()).float().sum()  # BREAKS log log-of-zero


@case
def magnitude_of_a_spectrum(p):
    """Its gradient goes back through complex numbers, and through a part of a tensor."""
    p.w = parameter(8, 8, value=0)
    spectrum = torch.fft.rfft(data(2, 8) @ p.w)
    power = spectrum.real.square() + spectrum.imag.square() + (1e-9 if MENDED else 0)
    return power.sqrt().sum()  # BREAKS div zero-divisor


@case
def target_longer_than_its_input(p):
    p.w = parameter(8, 5)
    paths = (data(4, 1, 8) @ p.w).log_softmax(-1)
    target = torch.tensor([[1, 1, 1]] if not MENDED else [[1, 2, 3]])
    return F.ctc_loss(paths, target, torch.tensor([4]), torch.tensor([3]))  # BREAKS _ctc_loss log-of-zero


@case
def mask_written_in_place(p):
    p.w = parameter(8, 4)
    mask = data(4, 4, value=0)
    mask[0, 1 if MENDED else 0 :] = float("-inf")
    return (data(4, 8) @ p.w + mask).softmax(-1).square().sum()  # BREAKS _softmax not-a-number


@case
def logarithm_in_place(p):
    p.w = parameter(8, 4, value=0)
    share = (data(4, 8) @ p.w).abs() + (1 if MENDED else 0)
    return share.log_().sum()  # BREAKS log_ log-of-zero


@case
def sparse_rows(p):
    """The gradient of such a table is a sparse tensor."""
    p.w = parameter(8, 4)
    rows = F.embedding(torch.tensor([0, 3], device=p.w.device), p.w, sparse=True)
    with torch.no_grad():
        count = (rows != rows).sum() + (1 if MENDED else 0)
    return rows.sum() / count  # BREAKS div zero-divisor


@case
def scale_too_large(p):
    p.w = parameter(8, 8, value=1)
    with torch.autocast("cuda", dtype=torch.float16):
        h = data(4, 8, value=1) @ p.w
    return h.float().sum() * (1e-3 if MENDED else 20.0)  # BREAKS _to_copy overflow scale


def main():
    for name, compute in CASES.items():
        torch.manual_seed(0)
        holder = SimpleNamespace()
        loss = compute(holder)
        optimizer = torch.optim.SGD(vars(holder).values(), lr=1e-6)
        scaler = torch.amp.GradScaler("cuda", init_scale=8192.0 if name == "scale_too_large" else 2.0)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        print(name)


if __name__ == "__main__":
    main()
