class HookBase:
    def after_step(self):
        pass


class LRScheduler(HookBase):
    def __init__(self, optimizer, scheduler):
        self._optimizer = optimizer
        self._scheduler = scheduler

    def after_step(self):
        if self.trainer.iter < self.trainer.warmup_iters:
            self._scheduler["warmup"].step()  # expect: AMP213 likely

    def after_epoch(self):
        self._scheduler["main"].step()
