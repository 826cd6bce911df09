class HookBase:
    def before_step(self):
        pass

    def after_step(self):
        pass


class LRScheduler(HookBase):
    def __init__(self, optimizer, scheduler):
        self._optimizer = optimizer
        self._scheduler = scheduler

    def before_step(self):
        self._scale = self.trainer.scaler.get_scale()

    def after_step(self):
        if self._scale <= self.trainer.scaler.get_scale():
            self._scheduler["warmup"].step()

    def after_epoch(self):
        self._scheduler["main"].step()
