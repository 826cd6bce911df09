"""The order of events. A comment names the rule that the line breaks; a function without one is clean."""

import torch


def plain_loop(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def clipped_loop(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.unscale_(w.optimizer)
        w.clip(w.model.parameters(), 1.0)
        w.scaler.step(w.optimizer)
        w.scaler.update()


def bounded_into_themselves(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        for parameter in w.model.parameters():
            torch.nan_to_num(parameter.grad, nan=0.0, posinf=0.0, neginf=0.0, out=parameter.grad)  # AMP201
        w.scaler.step(w.optimizer)
        w.scaler.update()


def clip_norm_before_unscale(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.clip(w.model.parameters(), 1.0)  # AMP201
        w.scaler.unscale_(w.optimizer)
        w.scaler.step(w.optimizer)
        w.scaler.update()


def clip_by_a_limit_times_the_scale(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.clip(w.model.parameters(), 0.5 * w.scaler.get_scale())
        w.scaler.step(w.optimizer)
        w.scaler.update()


def clip_by_a_limit_beside_a_scale_that_is_read(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        print(w.scaler.get_scale())
        w.scaler.scale(w.loss(batch)).backward()
        w.clip(w.model.parameters(), 1.0)  # AMP201
        w.scaler.step(w.optimizer)
        w.scaler.update()


def clip_value_without_unscale(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        torch.nn.utils.clip_grad_value_(w.model.parameters(), 1.0)  # AMP201
        w.scaler.step(w.optimizer)
        w.scaler.update()


def clip_with_a_norm_taken_before(w):
    from torch.nn.utils import clip_grads_with_norm_, get_total_norm

    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        parameters = list(w.model.parameters())
        norm = get_total_norm([each.grad for each in parameters])
        clip_grads_with_norm_(parameters, 1.0, norm)  # AMP201
        w.scaler.step(w.optimizer)
        w.scaler.update()


def clip_of_gradients_that_were_zeroed(w):
    for batch in w.batches:
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()
        w.optimizer.zero_grad()
        w.clip(w.model.parameters(), 1.0)  # AMP211


def clip_that_finds_no_gradients_once(w):
    for number, batch in enumerate([w.batches[0], *w.batches]):
        if number:
            w.scaler.scale(w.loss(batch)).backward()
            w.scaler.unscale_(w.optimizer)
        w.clip(w.model.parameters(), 1.0)
        if number:
            w.scaler.step(w.optimizer)
            w.scaler.update()
            w.optimizer.zero_grad()


def norm_measured_only(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.clip(w.model.parameters(), float("inf"))
        w.scaler.step(w.optimizer)
        w.scaler.update()


def clip_after_step(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(w.optimizer)
        w.clip(w.model.parameters(), 1.0)  # AMP211
        w.scaler.update()


def unscale_twice(w):
    w.scaler.scale(w.loss(w.batches[0])).backward()
    w.scaler.unscale_(w.optimizer)
    w.scaler.unscale_(w.optimizer)  # AMP202


def unscale_after_step(w):
    w.scaler.scale(w.loss(w.batches[0])).backward()
    w.scaler.step(w.optimizer)  # AMP209
    w.scaler.unscale_(w.optimizer)  # AMP202


def unscale_under_another_name(w):
    class Wrapper:
        def __init__(self, inner):
            self.inner = inner
            self.param_groups = inner.param_groups

        def step(self):
            self.inner.step()

    wrapper = Wrapper(w.optimizer)
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.unscale_(w.optimizer)
        w.scaler.step(wrapper)  # AMP202
        w.scaler.update()


def accumulation(w):
    for number, batch in enumerate(w.batches):
        w.scaler.scale(w.loss(batch) / 2).backward()
        if number % 2:
            w.scaler.unscale_(w.optimizer)
            w.clip(w.model.parameters(), 1.0)
            w.scaler.step(w.optimizer)
            w.scaler.update()
            w.optimizer.zero_grad()


def backward_after_unscale(w):
    for first, second in zip(w.batches[::2], w.batches[1::2]):
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(first)).backward()
        w.scaler.unscale_(w.optimizer)  # AMP203
        w.scaler.scale(w.loss(second)).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def update_per_micro_batch(w):
    for number, batch in enumerate(w.batches):
        w.scaler.scale(w.loss(batch) / 2).backward()
        if number % 2:
            w.scaler.step(w.optimizer)
            w.optimizer.zero_grad()
            w.scaler.update()
        else:
            w.scaler._found_inf_per_device(w.optimizer)
            w.scaler.unscale_(torch.optim.SGD([_touched(w)], lr=0.1))
            w.scaler.update()  # AMP210


def _touched(w):
    other = torch.nn.Parameter(torch.zeros(1))
    other.grad = torch.zeros(1)
    return other


def zero_in_the_window(w):
    for number, batch in enumerate(w.batches):
        w.optimizer.zero_grad()  # AMP212
        w.scaler.scale(w.loss(batch) / 3).backward()
        if number % 3 == 2:
            w.scaler.step(w.optimizer)
            w.scaler.update()


def one_bad_batch_is_dropped(w):
    for number, batch in enumerate(w.batches):
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        if number == 1:
            continue
        w.scaler.step(w.optimizer)
        w.scaler.update()


def never_zeroed(w):
    for batch in w.batches:
        w.scaler.scale(w.loss(batch)).backward()  # AMP212
        w.scaler.step(w.optimizer)
        w.scaler.update()


def zeroed_by_hand(w):
    for batch in w.batches:
        for parameter in w.model.parameters():
            parameter.grad = None
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def zeroed_through_data(w):
    for batch in w.batches:
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()
        for parameter in w.model.parameters():
            parameter.grad.data.zero_()


def zeroed_in_place(w):
    for batch in w.batches:
        w.model.zero_grad(set_to_none=False)
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def zeroed_by_the_optimizer(w):
    class Clean(torch.optim.SGD):
        def step(self, closure=None):
            super().step(closure)
            self.zero_grad()

    optimizer = Clean(w.model.parameters(), lr=0.01)
    for batch in w.batches:
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(optimizer)
        w.scaler.update()


def zero_between_backward_and_step(w):
    for batch in w.batches:
        w.scaler.scale(w.loss(batch)).backward()
        w.optimizer.zero_grad(set_to_none=False)  # AMP212
        w.scaler.step(w.optimizer)
        w.scaler.update()


def dropped_scale(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        loss = w.loss(batch)
        w.scaler.scale(loss)
        loss.backward()  # AMP206
        w.scaler.step(w.optimizer)
        w.scaler.update()


def scaled_with_others(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        total = w.scaler.scale(w.loss(batch)) + 0.5 * w.scaler.scale(w.loss(batch + 1))
        (total / 2).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def scaled_outputs(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            outputs = w.model(batch)
        (scaled,) = w.scaler.scale([outputs.float()])
        for _ in range(40):
            scaled = scaled * 1.0 + 0.0
        torch.autograd.backward(scaled.mean())
        w.scaler.step(w.optimizer)
        w.scaler.update()


def plain_part_of_a_loss(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.loss(batch + 1).backward()  # AMP206
        w.scaler.step(w.optimizer)
        w.scaler.update()


def scaled_by_hand(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(torch.zeros(1))
        (w.loss(batch) * w.scaler.get_scale()).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def direct_step(w):
    for batch in w.batches[:1]:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.optimizer.step()  # AMP207


def unscaled_by_hand(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        for parameter in w.model.parameters():
            parameter.grad.div_(1024.0)
        w.clip(w.model.parameters(), 1.0)
        w.optimizer.step()


def direct_step_on_inf(w):
    w.optimizer.zero_grad()
    w.scaler.scale(w.loss(w.batches[0])).backward()
    w.poison()
    w.scaler.scale(torch.zeros(1, requires_grad=True)).backward()
    w.scaler.unscale_(w.optimizer)
    w.optimizer.step()  # AMP207
    w.scaler.update()


def direct_step_that_nobody_guards(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.unscale_(w.optimizer)
        w.clip(w.model.parameters(), 1.0)
        w.optimizer.step()  # AMP207
        w.scaler.update()


def direct_step_behind_a_check(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.unscale_(w.optimizer)
        if torch.isfinite(w.clip(w.model.parameters(), 1.0)):
            w.optimizer.step()
        w.scaler.update()


def direct_step_behind_an_early_check(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        finite = all(parameter.grad.isfinite().all().item() for parameter in w.model.parameters())
        w.scaler.unscale_(w.optimizer)
        if finite:
            w.optimizer.step()
        w.scaler.update()


def direct_step_of_an_optimizer_that_checks(w):
    class Checking(torch.optim.SGD):
        @torch.no_grad()
        def step(self, closure=None):
            if all(bool(parameter.grad.isfinite().all()) for parameter in self.param_groups[0]["params"]):
                super().step(closure)

    optimizer = Checking(w.model.parameters(), lr=0.01)
    for batch in w.batches:
        optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.unscale_(optimizer)
        optimizer.step()
        w.scaler.update()


def clipped_inside_the_step(w):
    class Clipping(torch.optim.SGD):
        def step(self, closure=None):
            w.clip(self.param_groups[0]["params"], 1.0)
            super().step(closure)

    optimizer = Clipping(w.model.parameters(), lr=0.01)
    for batch in w.batches:
        optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(optimizer)
        w.scaler.update()


def checked_step(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.unscale_(w.optimizer)
        if torch.isfinite(w.clip(w.model.parameters(), 1.0)):
            w.optimizer.step()
        w.scaler.update()


def double_step(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(w.optimizer)
        w.optimizer.step()  # AMP208
        w.scaler.update()


def no_update(w):
    for batch in w.batches[:2]:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(w.optimizer)  # AMP209


def update_with_nothing_to_judge(w):
    w.scaler.scale(w.loss(w.batches[0])).backward()
    w.scaler.update()  # AMP210


def skip_that_leaves_the_window_open(w):
    for number, batch in enumerate(w.batches):
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        if number != 1:
            w.scaler.unscale_(w.optimizer)  # AMP214
        if number == 0:
            continue
        w.scaler.step(w.optimizer)
        w.scaler.update()


def skip_that_closes_the_window(w):
    for number, batch in enumerate(w.batches):
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.unscale_(w.optimizer)
        if number != 1:
            w.scaler.step(w.optimizer)
        w.scaler.update()


def disabled_scaler(w):
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    for batch in w.batches:
        w.optimizer.zero_grad()
        scaler.scale(w.loss(batch, torch.bfloat16)).backward()
        scaler.unscale_(w.optimizer)
        w.clip(w.model.parameters(), 1.0)
        scaler.step(w.optimizer)
        scaler.update()


def float32_without_any_of_it(w):
    for batch in w.batches:
        w.model(batch).pow(2).mean().backward()
        w.optimizer.step()
        w.optimizer.step()


def penalty(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        loss = w.loss(batch)
        grads = torch.autograd.grad(w.scaler.scale(loss), list(w.model.parameters()), create_graph=True)
        scale = 1.0 / w.scaler.get_scale()
        norm = sum((grad * scale).pow(2).sum() for grad in grads)
        w.scaler.scale(loss + 0.1 * norm).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def inf_taken_out_before_unscale(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        for parameter in w.model.parameters():
            torch.nan_to_num_(parameter.grad, nan=0.0, posinf=0.0, neginf=0.0)  # AMP201
        w.scaler.unscale_(w.optimizer)
        w.scaler.step(w.optimizer)
        w.scaler.update()


def clamped_by_a_method_and_never_unscaled(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        for parameter in list(w.model.parameters())[1:]:
            parameter.grad.clamp_(-1.0, 1.0)  # AMP201
        w.scaler.step(w.optimizer)
        w.scaler.update()


def clamped_after_unscale(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.unscale_(w.optimizer)
        for parameter in w.model.parameters():
            torch.nan_to_num_(parameter.grad, nan=0.0)
            parameter.grad.clamp_(-1.0, 1.0)
        w.scaler.step(w.optimizer)
        w.scaler.update()


def clamped_after_a_division_by_hand(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        for parameter in w.model.parameters():
            parameter.grad.div_(1024.0).clamp_(-1.0, 1.0)
        w.optimizer.step()


def clamped_and_then_thrown_away(w):
    for number, batch in enumerate(w.batches):
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        if number == 1:
            next(w.model.parameters()).grad.clamp_(-1.0, 1.0)
            continue
        w.scaler.step(w.optimizer)
        w.scaler.update()


def clamped_inside_the_step(w):
    class Clamping(torch.optim.SGD):
        def step(self, closure=None):
            for parameter in self.param_groups[0]["params"]:
                parameter.grad.clamp_(-1.0, 1.0)
            super().step(closure)

    optimizer = Clamping(w.model.parameters(), lr=0.01)
    for batch in w.batches:
        optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(optimizer)
        w.scaler.update()


def other_tensors_are_clamped(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch.clone().clamp_(-1.0, 1.0))).backward()
        [each.grad.clone().nan_to_num_() for each in w.model.parameters()]
        w.scaler.step(w.optimizer)
        w.scaler.update()
        with torch.no_grad():
            for parameter in w.model.parameters():
                parameter.clamp_(-1.0, 1.0)


def gradient_surgery(w):
    for batch in w.batches:
        kept = []
        for part in (batch[:4], batch[4:]):
            w.optimizer.zero_grad()
            w.scaler.scale(w.loss(part)).backward()
            kept.append([each.grad.clone() for each in w.model.parameters()])
        for parameter, one, other in zip(w.model.parameters(), *kept):
            parameter.grad = one + other
        w.scaler.unscale_(w.optimizer)
        w.clip(w.model.parameters(), 1.0)
        w.scaler.step(w.optimizer)
        w.scaler.update()


def update_left_out_of_one_window(w):
    for number, batch in enumerate(w.batches):
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.unscale_(w.optimizer)  # AMP214
        if number != 2:
            w.scaler.step(w.optimizer)
            w.scaler.update()
            w.optimizer.zero_grad()


def step_that_raises_one_window_later(w):
    for number, batch in enumerate(w.batches):
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(w.optimizer)  # AMP209
        if number != 1:
            w.scaler.update()


def unscale_of_each_micro_batch(w):
    for number, batch in enumerate(w.batches):
        w.scaler.scale(w.loss(batch) / 2).backward()
        w.scaler.unscale_(w.optimizer)  # AMP203
        if number % 2:
            w.scaler.step(w.optimizer)
            w.scaler.update()
            w.optimizer.zero_grad()


def regular_penalty_after_unscale(w):
    for number, batch in enumerate(w.batches):
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.unscale_(w.optimizer)  # AMP203
        if number % 2:
            w.scaler.scale(w.loss(batch + 1)).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def scaled_in_a_closure(w):
    def closure():
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(w.batches[0])).backward()

    for _ in w.batches:
        w.optimizer.step(closure)  # AMP207


class _TwoSteps(torch.optim.Optimizer):
    """An optimizer that goes uphill, asks for the loss again, and lets another one step."""

    def __init__(self, base):
        super().__init__(base.param_groups, {})
        self.base = base

    @torch.no_grad()
    def step(self, closure):
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(p.grad, alpha=0.01)
        with torch.enable_grad():
            closure()
        self.base.step()


def closure_of_an_optimizer_that_steps_another(w):
    optimizer = _TwoSteps(w.optimizer)

    def closure():
        optimizer.zero_grad()
        w.loss(w.batches[0], torch.bfloat16).backward()

    for _ in w.batches:
        closure()
        optimizer.step(closure)
