import torch


class Asks:
    def state_dict(self):
        return {"model": self.model.state_dict()}

    def load_state_dict(self, state):
        self.model.load_state_dict(state["model"])
        if "ema" in state:
            self.ema.load_state_dict(state["ema"])
        self.best = state.get("best", 0.0)
        try:
            self.step = state["step"]
        except KeyError:
            self.step = 0


class MovesOn(Asks):
    def load_state_dict(self, state):
        state = upgraded(state)
        self.model.load_state_dict(state["network"])

    def state_dict(self):
        return {"model": self.model.state_dict()}


class WithMore(torch.nn.Module):
    def state_dict(self):
        state = super().state_dict()
        state["step"] = self.step
        return state

    def load_state_dict(self, state):
        self.step = state["steps"]


class OpenInOneCase(torch.nn.Module):
    def state_dict(self):
        if self.sharded:
            return {"teacher": self.teacher.state_dict()}
        return super().state_dict()

    def load_state_dict(self, state):
        self.center = state["center"]


class FillsIn:
    def state_dict(self):
        return {"model": self.model.state_dict()}

    def load_state_dict(self, state):
        state["step"] = 0
        self.model.load_state_dict(state["model"])
        self.step = state["step"]


def upgraded(state):
    return {"network": state["model"]}


def save(trainer, path):
    torch.save(trainer.state_dict(), path)


class ReadsEarlierVersions:
    def state_dict(self):
        return {"loader": self.loader.state_dict(), "epoch": self.epoch}

    def load_state_dict(self, state):
        if "loader" not in state:
            state["loader"] = {"seen": state["tokens_seen"], "epoch": state["epoch"]}
        self.loader.load_state_dict(state["loader"])
        self.epoch = state["epoch"]
