class TrainerPlugin:
    def after_training_batch(self):
        pass


class WarmupPlugin(TrainerPlugin):
    def __init__(self, scheduler):
        self.scheduler = scheduler

    def after_training_batch(self):
        self.scheduler.step()  # expect: AMP213 likely
