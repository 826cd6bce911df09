"""Two optimizers, and one of them is left without gradients at its step."""

import torch


def adversaries(maker, critic, batches, loss_fn):
    ours = torch.optim.AdamW(maker.parameters())
    theirs = torch.optim.AdamW(critic.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for noise, real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            made = maker(noise)
            their_loss = critic(made.detach()).mean() - critic(real).mean()
        scaler.scale(their_loss).backward()
        theirs.zero_grad()  # expect: AMP212
        scaler.step(theirs)
        ours.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            our_loss = loss_fn(critic(made))
        scaler.scale(our_loss).backward()
        scaler.unscale_(ours)
        torch.nn.utils.clip_grad_norm_(maker.parameters(), 1.0)
        scaler.step(ours)
        scaler.update()


def one_loss(encoder, head, batches, loss_fn):
    low = torch.optim.SGD(encoder.parameters(), lr=0.01)
    high = torch.optim.SGD(head.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(head(encoder(inputs)), targets)
        scaler.scale(loss).backward()
        scaler.step(low)
        high.zero_grad()  # expect: AMP212
        scaler.unscale_(high)
        torch.nn.utils.clip_grad_norm_(head.parameters(), 1.0)
        scaler.step(high)
        low.zero_grad()
        scaler.update()


def measured_before(maker, critic, batches, loss_fn):
    ours = torch.optim.AdamW(maker.parameters())
    theirs = torch.optim.AdamW(critic.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for noise, real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            their_loss = critic(maker(noise).detach()).mean() - critic(real).mean()
        theirs.zero_grad()
        scaler.scale(their_loss).backward()
        scaler.unscale_(theirs)
        print(torch.nn.utils.clip_grad_norm_(critic.parameters(), 1.0))
        theirs.zero_grad()  # expect: AMP212
        scaler.step(theirs)
        with torch.autocast("cuda", dtype=torch.float16):
            our_loss = loss_fn(critic(maker(noise)))
        ours.zero_grad()
        scaler.scale(our_loss).backward()
        scaler.step(ours)
        scaler.update()
