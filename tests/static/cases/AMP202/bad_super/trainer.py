import torch
from base import Base, Unscaling, Watched


class Trainer(Base):
    def before_step(self):
        super(Trainer, self).before_step()
        self.amp.unscale_(self.optimizer)  # expect: AMP202

    def run(self, loader):
        for batch in loader:
            with torch.autocast("cuda"):
                loss = self.model(batch).mean()
            self.amp.scale(loss).backward()
            self.before_step()
            self.amp.step(self.optimizer)
            self.amp.update()
            self.optimizer.zero_grad()


class Mixed(Watched, Unscaling, Base):
    def run(self, loader):
        for batch in loader:
            with torch.autocast("cuda"):
                loss = self.model(batch).mean()
            self.amp.scale(loss).backward()
            self.before_step()
            self.amp.step(self.optimizer)
            self.amp.update()
            self.optimizer.zero_grad()
