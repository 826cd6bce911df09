"""Two optimizers whose parameters are chosen from one model: each clip is of gradients that are unscaled."""

import torch
from torch.nn.utils import clip_grad_norm_


def clips_only_what_it_has_unscaled(model, loss_fn, batches):
    matrices = [p for p in model.parameters() if p.ndim == 2]
    rest = [p for p in model.parameters() if p.ndim != 2]
    muon, adamw = torch.optim.Muon(matrices), torch.optim.AdamW(rest)
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(muon)
        clip_grad_norm_(matrices, 1.0)
        scaler.step(muon)
        scaler.step(adamw)
        scaler.update()
        model.zero_grad()


def clips_the_body_alone(model, loss_fn, batches, heads_too):
    body = torch.optim.SGD([p for n, p in model.named_parameters() if "head" not in n], lr=0.1)
    head = torch.optim.AdamW([p for n, p in model.named_parameters() if "head" in n])
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(body)
        if heads_too:
            scaler.unscale_(head)
            clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(head)
        else:
            clip_grad_norm_([p for n, p in model.named_parameters() if "head" not in n], 1.0)
        scaler.step(body)
        scaler.update()
        model.zero_grad()


def the_head_first_and_then_all(model, loss_fn, batches, warm):
    every = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    head = torch.optim.AdamW([p for n, p in model.named_parameters() if "head" in n])
    scaler = torch.amp.GradScaler("cuda")
    for i, (inputs, targets) in enumerate(batches):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        if i < warm:
            scaler.unscale_(head)
            clip_grad_norm_([p for n, p in model.named_parameters() if "head" in n], 1.0)
        if i >= warm:
            scaler.unscale_(every)
            clip_grad_norm_(model.parameters(), 1.0)
        if i < warm:
            scaler.step(head)
        if i >= warm:
            scaler.step(every)
        scaler.update()
        model.zero_grad()
