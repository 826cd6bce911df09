"""Gradients written by hand: what is left of the scale after it, and who is deceived by it."""

import torch


def _window(w, change, **options):
    """Windows in which gradients are changed between backward and step."""
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        change(list(w.model.parameters()), **options)
        w.scaler.step(w.optimizer)
        w.scaler.update()


def clip_after_a_division_by_the_ranks(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        for parameter in w.model.parameters():
            parameter.grad.div_(4)
        w.clip(w.model.parameters(), 1.0)  # AMP201
        w.scaler.step(w.optimizer)
        w.scaler.update()


def clip_of_what_was_assigned(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        for parameter in w.model.parameters():
            parameter.grad = parameter.grad - parameter.grad.mean()
        w.clip(w.model.parameters(), 1.0)  # AMP201
        w.scaler.step(w.optimizer)
        w.scaler.update()


def value_clip_after_weight_decay_by_hand(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        with torch.no_grad():
            for parameter in w.model.parameters():
                parameter.grad += 0.01 * parameter  # AMP204
        torch.nn.utils.clip_grad_value_(w.model.parameters(), 1.0)  # AMP201
        w.scaler.step(w.optimizer)
        w.scaler.update()


def clip_after_a_division_by_the_scale(w):
    def divide(parameters):
        inverse = 1.0 / w.scaler.get_scale()
        for parameter in parameters:
            parameter.grad.mul_(inverse)

    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        divide(w.model.parameters())
        w.clip(w.model.parameters(), 1.0)
        w.optimizer.step()


def clip_after_a_division_by_scale_and_ranks(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        for parameter in w.model.parameters():
            parameter.grad = parameter.grad / (1024.0 * 4)
        w.clip(w.model.parameters(), 1.0)
        w.optimizer.step()


def norm_of_each_tensor(w):
    def bring_to(parameters, limit):
        for parameter in parameters:
            length = parameter.grad.pow(2).sum().sqrt()
            if length > limit:
                parameter.grad = parameter.grad * (limit / length)  # AMP201

    _window(w, bring_to, limit=0.5)


def norm_of_all_together(w):
    class Clipper:
        def __init__(self, most):
            self.most = most

        def __call__(self, parameters):
            total = torch.stack([torch.linalg.vector_norm(each.grad) for each in parameters]).norm()
            share = torch.clamp(self.most / (total + 1e-6), max=1.0)
            torch._foreach_mul_([each.grad for each in parameters], share)  # AMP201

    _window(w, Clipper(0.1))


def largest_value(w):
    def bound(parameters):
        for parameter in parameters:
            parameter.grad = torch.where(parameter.grad.abs() > 0.1, parameter.grad.sign() * 0.1, parameter.grad)  # AMP201

    _window(w, bound)


def norm_of_each_tensor_after_unscale(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.unscale_(w.optimizer)
        for parameter in w.model.parameters():
            parameter.grad.mul_(1e-4 / parameter.grad.norm())
        w.scaler.step(w.optimizer)
        w.scaler.update()


def limit_times_the_scale(w):
    def bring_to(parameters):
        limit = 0.001 * w.scaler.get_scale()
        for parameter in parameters:
            parameter.grad.mul_(limit / parameter.grad.norm())

    _window(w, bring_to)


def factor_for_each_layer(w):
    def slow_down(parameters):
        for number, parameter in enumerate(parameters):
            parameter.grad.mul_(0.9**number)

    _window(w, slow_down)


def frozen_by_zeros(w):
    def freeze(parameters):
        for parameter in parameters[:2]:
            parameter.grad.zero_()

    _window(w, freeze)


def _poisoned(w, hide, **update):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.poison()
        hide(w.model)
        w.scaler.step(w.optimizer)
        w.scaler.update(**update)


def inf_replaced_by_zeros(w):
    def hide(model):
        for parameter in model.parameters():
            if torch.isinf(parameter.grad).any():
                parameter.grad = torch.zeros_like(parameter.grad)  # AMP201

    _poisoned(w, hide)


def inf_masked_in_place(w):
    def hide(model):
        for parameter in model.parameters():
            parameter.grad[~torch.isfinite(parameter.grad)] = 0.0  # AMP201

    _poisoned(w, hide)


def inf_filled_by_a_mask(w):
    def hide(model):
        for parameter in model.parameters():
            parameter.grad.masked_fill_(parameter.grad.isinf(), 0.0)  # AMP201

    _poisoned(w, hide)


def inf_hidden_by_a_test_on_the_whole(w):
    def hide(model):
        total = sum(parameter.grad.abs().sum() for parameter in model.parameters())
        if not torch.isfinite(total):
            for parameter in model.parameters():
                parameter.grad.copy_(torch.zeros_like(parameter.grad))  # AMP201

    _poisoned(w, hide)


def inf_replaced_and_the_scale_lowered(w):
    def hide(model):
        for parameter in model.parameters():
            parameter.grad = torch.nan_to_num(parameter.grad, posinf=0.0)

    _poisoned(w, hide, new_scale=64.0)


def inf_left_to_the_scaler(w):
    def look(model):
        for parameter in model.parameters():
            parameter.grad.mul_(0.5)

    _poisoned(w, look)


def inf_replaced_after_unscale(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.poison()
        w.scaler.unscale_(w.optimizer)
        for parameter in w.model.parameters():
            parameter.grad = torch.nan_to_num(parameter.grad, posinf=0.0)
        w.scaler.step(w.optimizer)
        w.scaler.update()


def _train(w, batches):
    for batch in batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def outer_gradient_through_the_scaler(w):
    outer = torch.optim.SGD(w.model.parameters(), lr=0.7)
    for part in (w.batches[:3], w.batches[3:]):
        old = [each.detach().clone() for each in w.model.parameters()]
        _train(w, part)
        for before, parameter in zip(old, w.model.parameters()):
            parameter.grad = before - parameter.data  # AMP206
        w.scaler.step(outer)
        w.scaler.update()


def outer_gradient_copied_and_unscaled(w):
    for part in (w.batches[:3], w.batches[3:]):
        old = [each.detach().clone() for each in w.model.parameters()]
        _train(w, part)
        with torch.no_grad():
            for before, parameter in zip(old, w.model.parameters()):
                parameter.grad.copy_(before - parameter)  # AMP206
        w.scaler.unscale_(w.optimizer)
        w.clip(w.model.parameters(), 1.0)
        w.scaler.step(w.optimizer)
        w.scaler.update()


def outer_gradient_of_an_optimizer_of_its_own(w):
    outer = torch.optim.SGD(w.model.parameters(), lr=0.7, momentum=0.9, nesterov=True)
    for part in (w.batches[:3], w.batches[3:]):
        old = [each.detach().clone() for each in w.model.parameters()]
        _train(w, part)
        for before, parameter in zip(old, w.model.parameters()):
            parameter.grad = before - parameter.data
        outer.step()
        outer.zero_grad()


def outer_gradient_that_is_scaled(w):
    outer = torch.optim.SGD(w.model.parameters(), lr=0.7)
    for part in (w.batches[:3], w.batches[3:]):
        old = [each.detach().clone() for each in w.model.parameters()]
        _train(w, part)
        for before, parameter in zip(old, w.model.parameters()):
            parameter.grad = w.scaler.scale(before - parameter.data)
        w.scaler.step(outer)
        w.scaler.update()


def gradients_of_autograd_grad(w):
    for batch in w.batches:
        parameters = list(w.model.parameters())
        made = torch.autograd.grad(w.scaler.scale(w.loss(batch)), parameters)
        for parameter, gradient in zip(parameters, made):
            parameter.grad = gradient
        w.scaler.step(w.optimizer)
        w.scaler.update()


def accumulated_in_buffers(w):
    buffers = [torch.zeros_like(each) for each in w.model.parameters()]
    for number, batch in enumerate(w.batches):
        w.scaler.scale(w.loss(batch) / 3).backward()
        for buffer, parameter in zip(buffers, w.model.parameters()):
            buffer += parameter.grad
            parameter.grad = None
        if number % 3 == 2:
            for buffer, parameter in zip(buffers, w.model.parameters()):
                parameter.grad = buffer.clone()
                buffer.zero_()
            w.scaler.step(w.optimizer)
            w.scaler.update()
            w.optimizer.zero_grad()


def _decayed(w, decay, grows=False):
    """Windows in which something is added before the scaler divides, under one scale or under several."""
    if grows:
        w.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        with torch.no_grad():
            decay(list(w.model.parameters()))
        w.scaler.step(w.optimizer)
        w.scaler.update()


def decay_in_place(w):
    def decay(parameters):
        for parameter in parameters:
            parameter.grad.add_(parameter, alpha=0.01)  # AMP204

    _decayed(w, decay)


def decay_while_the_scale_grows(w):
    def decay(parameters):
        w.scaler.get_scale()
        for parameter in parameters:
            parameter.grad += 5e-4 * parameter  # AMP204

    _decayed(w, decay, grows=True)


def decay_by_signs(w):
    def decay(parameters):
        for parameter in parameters:
            parameter.grad.sub_(parameter.sign(), alpha=-1e-3)  # AMP204

    _decayed(w, decay)


def decay_of_a_list(w):
    def decay(parameters):
        torch._foreach_add_([each.grad for each in parameters], parameters, alpha=0.05)  # AMP204

    _decayed(w, decay)


def decay_by_assignment(w):
    def decay(parameters):
        for parameter in parameters:
            parameter.grad = parameter.grad + 0.01 * parameter  # AMP204

    _decayed(w, decay)


def _widened(w):
    w.model = torch.nn.Sequential(torch.nn.Linear(4, 512), torch.nn.Tanh(), torch.nn.Linear(512, 1))
    w.optimizer = torch.optim.SGD(w.model.parameters(), lr=0.01)


def noise_while_the_scale_grows(w):
    def disturb(parameters):
        for parameter in parameters:
            parameter.grad.add_(torch.randn_like(parameter) * 0.1)  # AMP204

    _widened(w)
    _decayed(w, disturb, grows=True)


def noise_times_the_scale(w):
    def disturb(parameters):
        scale = w.scaler.get_scale()
        for parameter in parameters:
            parameter.grad.add_(torch.randn_like(parameter) * 0.1 * scale)

    _widened(w)
    _decayed(w, disturb, grows=True)


def decay_after_unscale(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.unscale_(w.optimizer)
        for parameter in w.model.parameters():
            parameter.grad += 0.01 * parameter.detach()
            parameter.grad.add_(torch.randn_like(parameter), alpha=0.01)
        w.scaler.step(w.optimizer)
        w.scaler.update()


def decay_times_the_scale(w):
    def decay(parameters):
        factor = 0.01 * w.scaler.get_scale()
        for parameter in parameters:
            parameter.grad.add_(parameter, alpha=factor)

    _decayed(w, decay, grows=True)


def decay_times_a_scale_that_is_known(w):
    def decay(parameters):
        for parameter in parameters:
            parameter.grad.add_(parameter, alpha=0.01 * 1024.0)

    _decayed(w, decay)


def gradients_of_a_second_loss_added(w):
    """Gradients of the same scaler are scaled as well, and so are their averages."""
    averages = {}

    def smooth(parameters):
        for number, parameter in enumerate(parameters):
            average = averages.setdefault(number, torch.zeros_like(parameter))
            average.mul_(0.5).add_(parameter.grad)
            parameter.grad.add_(average, alpha=0.3)

    _decayed(w, smooth)


def centred_while_the_scale_grows(w):
    def centre(parameters):
        for parameter in parameters:
            parameter.grad.sub_(torch.full_like(parameter, float(parameter.grad.mean())))

    _decayed(w, centre, grows=True)


def decay_that_the_program_divides_itself(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        for parameter in w.model.parameters():
            parameter.grad.add_(parameter.detach(), alpha=0.01)
            parameter.grad.div_(1024.0)
            parameter.grad.add_(parameter.detach(), alpha=0.01)
        w.optimizer.step()
