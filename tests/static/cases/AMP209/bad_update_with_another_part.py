"""The update belongs to a part of the turn that a setting leaves out: with it, all is right."""

from torch.cuda.amp import GradScaler


class Trainer:
    def __init__(self, encoder, head, encoder_optimizer, head_optimizer, settings):
        self.encoder, self.head, self.settings = encoder, head, settings
        self.encoder_optimizer, self.head_optimizer = encoder_optimizer, head_optimizer
        self.scaler = GradScaler()

    def run(self, batches):
        for batch in batches:
            self.turn(batch)

    def turn(self, batch):
        if self.settings.train_encoder:
            self.encoder_optimizer.zero_grad()
            self.scaler.scale(self.encoder(batch)).backward()
            self.scaler.step(self.encoder_optimizer)  # expect: AMP209 likely
        if self.settings.train_head:
            self.head_optimizer.zero_grad()
            self.scaler.scale(self.head(batch)).backward()
            self.scaler.step(self.head_optimizer)
            self.scaler.update()
