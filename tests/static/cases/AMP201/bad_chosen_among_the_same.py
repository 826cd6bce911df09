"""Two optimizers whose parameters are chosen from one model: the clip is of gradients that nobody unscaled."""

import torch
from torch.nn.utils import clip_grad_norm_


def clips_all_and_unscales_some(model, loss_fn, batches):
    muon = torch.optim.Muon([p for p in model.parameters() if p.ndim == 2])
    adamw = torch.optim.AdamW([p for p in model.parameters() if p.ndim != 2])
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(muon)
        clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP201
        scaler.step(muon)
        scaler.step(adamw)
        scaler.update()
        model.zero_grad()


def clips_some_and_unscales_none(model, loss_fn, batches):
    matrices = [p for p in model.parameters() if p.ndim == 2]
    rest = [p for p in model.parameters() if p.ndim != 2]
    muon, adamw = torch.optim.Muon(matrices), torch.optim.AdamW(rest)
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        clip_grad_norm_(matrices, 1.0)  # expect: AMP201
        scaler.step(muon)
        scaler.step(adamw)
        scaler.update()
        model.zero_grad()


def clips_all_of_one_and_some_of_the_other(encoder, decoder, loss_fn, batches):
    known = {id(p) for p in encoder.parameters()}
    untied = [p for p in decoder.parameters() if id(p) not in known]
    first, second = torch.optim.Adam(encoder.parameters()), torch.optim.Adam(untied)
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(decoder(encoder(inputs)), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(second)
        clip_grad_norm_([*encoder.parameters(), *untied], 1.0)  # expect: AMP201
        scaler.step(first)
        scaler.step(second)
        scaler.update()
        encoder.zero_grad()
        decoder.zero_grad()
