"""What is read is not the dict as written: replaced, filled by a library, changed in a list, or made by an override.

(The file mentions autocast.)
"""

from torch.distributed.checkpoint.state_dict_loader import _load_state_dict


def measured():
    return {"rmse": 1.0, "mae": 2.0}


def replaced_by_computed_key(shots):
    report = {"overall": {}, "many": {}}
    for shot in report:
        report[shot] = measured()
    return report["overall"]["rmse"], shots


def replaced_by_key():
    report = {"overall": {"count": 1}, "many": measured()}
    report["overall"] = read_back()
    report["many"] = read_back()
    return report["overall"]["rmse"], report["many"]["bias"]


def read_back():
    return open("report.json").read()


def filled_by_a_library(path):
    state = {}
    _load_state_dict(state, storage_reader=path)
    return state["model"]


def groups(model):
    return [{"params": model.parameters()}]


def set_rate(param_groups, rate):
    for group in param_groups:
        group["lr"] = rate
    return param_groups


def changed_in_a_list(model):
    first = groups(model)
    second = set_rate(first, 0.1)
    return first[0]["lr"] == second[0]["lr"]


class Loader:
    def __init__(self, data):
        self.data = data
        self.cache = self.build_cache()

    def build_cache(self):
        return {"case": list(self.data), "instances": []}


class Balanced(Loader):
    def build_cache(self):
        return {"case": list(self.data), "foreground": []}

    def draw(self):
        return self.cache["foreground"]
