class Several:
    def __init__(self, optimizers):
        self.optimizers = optimizers

    def state_dict(self):
        return [(name, self.optimizers[name].state_dict()) for name in self.optimizers]

    def load_state_dict(self, state):
        for name, each in state:
            self.optimizers[name].load_state_dict(each)

    def step(self, scaler):
        for each in self.optimizers.values():
            scaler.step(each)
        scaler.update()
