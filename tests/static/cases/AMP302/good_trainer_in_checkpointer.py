import torch
from detectron2.checkpoint import DetectionCheckpointer
from detectron2.engine import SimpleTrainer
from torch.cuda.amp import GradScaler, autocast


class Trainer(SimpleTrainer):
    """Keeps both."""

    def __init__(self, model, loader, optimizer, grad_scaler=None):
        super().__init__(model=model, data_loader=loader, optimizer=optimizer)
        if grad_scaler is None:
            grad_scaler = GradScaler()
        self.grad_scaler = grad_scaler

    def state_dict(self):
        return {**super().state_dict(), "grad_scaler": self.grad_scaler.state_dict()}

    def load_state_dict(self, state):
        super().load_state_dict(state)
        self.grad_scaler.load_state_dict(state["grad_scaler"])

    def run_step(self):
        with autocast():
            loss = sum(self.model(next(self._data_loader_iter)).values())
        self.optimizer.zero_grad()
        self.grad_scaler.scale(loss).backward()
        self.grad_scaler.step(self.optimizer)
        self.grad_scaler.update()


def do_train(args, cfg, model, loader):
    optimizer = torch.optim.AdamW(model.parameters())
    trainer = Trainer(model, loader, optimizer)
    checkpointer = DetectionCheckpointer(model, cfg.output_dir, trainer=trainer)
    checkpointer.resume_or_load(cfg.checkpoint, resume=args.resume)
    trainer.train(0, cfg.max_iter)
