class TrainerPlugin:
    def after_training_batch(self, optimizer_was_run):
        pass


class WarmupPlugin(TrainerPlugin):
    def __init__(self, scheduler):
        self.scheduler = scheduler

    def after_training_batch(self, optimizer_was_run):
        if optimizer_was_run:
            self.scheduler.step()
