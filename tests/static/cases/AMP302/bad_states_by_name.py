import torch


class Pair:
    def __init__(self, nets):
        self.nets = nets
        self.optimizers = {name: torch.optim.Adam(net.parameters()) for name, net in nets.items()}
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, name, loss):
        self.optimizers[name].zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizers[name])
        self.scaler.update()

    def save(self, path):
        state = {name: net.state_dict() for name, net in self.nets.items()}
        state.update({f"{name}_optimizer": each.state_dict() for name, each in self.optimizers.items()})  # expect: AMP302
        torch.save(state, path)

    def load(self, path):
        state = torch.load(path)
        for name, net in self.nets.items():
            net.load_state_dict(state[name])
        for name, optimizer in self.optimizers.items():
            optimizer.load_state_dict(state[f"{name}_optimizer"])
