"""Unscaled, both of them: a list of one module's parameters and of some of another's, whose optimizer has chosen among them too."""

import torch


def added(body, head, batches):
    slow, fast = torch.optim.AdamW([p for p in body.parameters() if p.ndim > 1]), torch.optim.AdamW(head.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        slow.zero_grad()
        fast.zero_grad()
        scaler.scale(head(body(batch)).mean()).backward()
        scaler.unscale_(fast)
        scaler.unscale_(slow)
        some = [p for n, p in body.named_parameters() if "weight" in n]
        torch.nn.utils.clip_grad_norm_(list(head.parameters()) + some, 1.0)
        scaler.step(slow)
        scaler.step(fast)
        scaler.update()


def unpacked(model, batches):
    fast = torch.optim.AdamW(model.head.parameters())
    slow = torch.optim.AdamW(filter(lambda p: p.requires_grad, model.body.parameters()))
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        model.zero_grad()
        scaler.scale(model(batch).mean()).backward()
        scaler.unscale_(fast)
        scaler.unscale_(slow)
        torch.nn.utils.clip_grad_value_(
            [*(p for p in model.body.parameters() if p.requires_grad), *model.head.parameters()], 1.0
        )
        scaler.step(slow)
        scaler.step(fast)
        scaler.update()


def of_the_one_that_is_unscaled(body, head, batches):
    """The choice among `body` is that of the optimizer that is unscaled; the other one has the rest."""
    first = torch.optim.AdamW([*head.parameters(), *(p for p in body.parameters() if p.ndim > 1)])
    second = torch.optim.AdamW([p for p in body.parameters() if p.ndim == 1])
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        first.zero_grad()
        second.zero_grad()
        scaler.scale(head(body(batch)).mean()).backward()
        scaler.unscale_(first)
        torch.nn.utils.clip_grad_norm_([*head.parameters(), *(p for p in body.parameters() if p.ndim > 1)], 1.0)
        scaler.step(first)
        scaler.step(second)
        scaler.update()
