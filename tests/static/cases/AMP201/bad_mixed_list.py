"""A list of one module's parameters and of some of another's, whose optimizer has chosen among them too."""

import torch


def added(body, head, batches):
    slow, fast = torch.optim.AdamW([p for p in body.parameters() if p.ndim > 1]), torch.optim.AdamW(head.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        slow.zero_grad()
        fast.zero_grad()
        scaler.scale(head(body(batch)).mean()).backward()
        scaler.unscale_(fast)
        some = [p for n, p in body.named_parameters() if "weight" in n]
        torch.nn.utils.clip_grad_norm_(list(head.parameters()) + some, 1.0)  # expect: AMP201
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
        torch.nn.utils.clip_grad_value_(  # expect: AMP201
            [*(p for p in model.body.parameters() if p.requires_grad), *model.head.parameters()], 1.0
        )
        scaler.step(slow)
        scaler.step(fast)
        scaler.update()
