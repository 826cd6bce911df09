"""Weights in half precision, without a scaler: updates that are lost, epsilons that are zero, and ways to train rightly."""

import torch


def _has_no_scaler(case):
    case.has_scaler = False
    return case


def _train(w, step, dtype=torch.bfloat16, steps=8):
    for number in range(steps):
        loss = w.model(w.batches[number % 6].to(dtype)).float().pow(2).mean()
        loss.backward()
        step()
        w.model.zero_grad()


@_has_no_scaler
def small_steps(w):
    w.model.bfloat16()
    optimizer = torch.optim.AdamW(w.model.parameters(), lr=1e-5)

    def step():
        optimizer.step()  # AMP701

    _train(w, step)


@_has_no_scaler
def small_steps_under_autocast(w):
    w.model.bfloat16()
    optimizer = torch.optim.RMSprop([{"params": w.model[0].parameters()}, {"params": w.model[2].parameters()}], lr=1e-6)
    for batch in w.batches:
        w.model.zero_grad()
        w.loss(batch, torch.bfloat16).backward()
        optimizer.step()  # AMP701


@_has_no_scaler
def small_steps_by_closure(w):
    w.model.bfloat16()
    optimizer = torch.optim.Adam(w.model.parameters(), lr=1e-5, weight_decay=0.1)

    def closure():
        w.model.zero_grad()
        loss = w.model(w.batches[0].bfloat16()).float().pow(2).mean()
        loss.backward()
        return loss

    for _ in range(6):
        optimizer.step(closure)  # AMP701


@_has_no_scaler
def a_subclass_that_steps_as_torch_does(w):
    class Named(torch.optim.AdamW):
        pass

    w.model.bfloat16()
    optimizer = Named(w.model.parameters(), lr=1e-5)
    for batch in w.batches:
        w.model.zero_grad()
        w.loss(batch, torch.bfloat16).backward()
        optimizer.step()  # AMP701


@_has_no_scaler
def large_steps(w):
    w.model.bfloat16()
    optimizer = torch.optim.SGD(w.model.parameters(), lr=0.1, momentum=0.9)
    _train(w, optimizer.step)


@_has_no_scaler
def small_steps_of_a_warm_up(w):
    w.model.bfloat16()
    optimizer = torch.optim.AdamW(w.model.parameters(), lr=1e-7)

    def step():
        optimizer.step()
        optimizer.param_groups[0]["lr"] = 0.05

    _train(w, step)


@_has_no_scaler
def nothing_to_learn(w):
    w.model.bfloat16()
    optimizer = torch.optim.AdamW(w.model.parameters(), lr=0.0)
    _train(w, optimizer.step)


@_has_no_scaler
def float32_weights(w):
    optimizer = torch.optim.AdamW(w.model.parameters(), lr=1e-5)
    for batch in w.batches:
        w.model.zero_grad()
        w.loss(batch, torch.bfloat16).backward()
        optimizer.step()


@_has_no_scaler
def a_master_copy(w):
    w.model.bfloat16()
    weights = list(w.model.parameters())
    master = [weight.detach().float() for weight in weights]
    optimizer = torch.optim.AdamW(master, lr=1e-5)

    def step():
        for copy, weight in zip(master, weights, strict=True):
            copy.grad = weight.grad.float()
        optimizer.step()
        with torch.no_grad():
            for copy, weight in zip(master, weights, strict=True):
                weight.copy_(copy)

    _train(w, step)


class _Stochastic(torch.optim.AdamW):
    """Steps in float32, and rounds up or down by chance."""

    @torch.no_grad()
    def step(self):
        kept = [(weight, weight.data) for group in self.param_groups for weight in group["params"]]
        for weight, half in kept:
            gradient, weight.grad = weight.grad.float(), None
            weight.data = half.float()
            weight.grad = gradient
        super().step()
        for weight, half in kept:
            noise = torch.randint(0, 1 << 16, weight.shape, dtype=torch.int32)
            half.copy_(((weight.data.view(torch.int32) + noise) & -65536).view(torch.float32))
            weight.grad = None
            weight.data = half


@_has_no_scaler
def stochastic_rounding(w):
    w.model.bfloat16()
    _train(w, _Stochastic(w.model.parameters(), lr=1e-5).step)


@_has_no_scaler
def an_epsilon_of_zero(w):
    w.model.half()
    optimizer = torch.optim.Adam(w.model.parameters(), lr=1e-2)

    def step():
        optimizer.step()  # AMP402

    _train(w, step, torch.float16)


@_has_no_scaler
def an_epsilon_that_float16_has(w):
    w.model.half()
    optimizer = torch.optim.Adam(w.model.parameters(), lr=1e-2, eps=1e-4)
    _train(w, optimizer.step, torch.float16)


@_has_no_scaler
def a_gradient_of_inf(w):
    w.model.half()
    optimizer = torch.optim.SGD(w.model.parameters(), lr=0.1)

    def step():
        w.poison()
        optimizer.step()  # AMP305

    _train(w, step, torch.float16)


@_has_no_scaler
def a_diverging_float32_model(w):
    optimizer = torch.optim.SGD(w.model.parameters(), lr=0.1)

    def step():
        w.poison()
        optimizer.step()

    _train(w, step, torch.float32)
