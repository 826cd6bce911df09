"""Of two optimizers, one is never zeroed: its gradients grow from turn to turn."""

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
        scaler.step(theirs)
        with torch.autocast("cuda", dtype=torch.float16):
            our_loss = loss_fn(critic(made))
        ours.zero_grad()
        scaler.scale(our_loss).backward()  # expect: AMP212
        scaler.step(ours)
        scaler.update()


class Trainer:
    def __init__(self, encoder, head):
        self.encoder, self.head = encoder, head
        self.low = torch.optim.SGD(encoder.parameters(), lr=0.01)
        self.high = torch.optim.SGD(head.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")

    def fit(self, batches, loss_fn):
        for inputs, targets in batches:
            self.low.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = loss_fn(self.head(self.encoder(inputs)), targets)
            self.scaler.scale(loss).backward()  # expect: AMP212
            self.scaler.step(self.low)
            self.scaler.step(self.high)
            self.scaler.update()


def by_the_models(maker, critic, batches, loss_fn):
    ours = torch.optim.AdamW(maker.parameters())
    theirs = torch.optim.AdamW(critic.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for noise, real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            made = maker(noise)
            their_loss = critic(made.detach()).mean() - critic(real).mean()
            our_loss = loss_fn(critic(made))
        scaler.scale(their_loss).backward()
        scaler.step(theirs)
        maker.zero_grad()
        scaler.scale(our_loss).backward()  # expect: AMP212
        scaler.step(ours)
        scaler.update()
