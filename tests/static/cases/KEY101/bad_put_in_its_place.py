"""Something is put into another place than the one that is read."""

from torch import save  # the file mentions autocast


def another_key():
    report = {"overall": {"count": 1}, "many": {}}
    report["many"] = None
    return report["overall"]["rmse"]  # expect: KEY101


def handed_to_a_reader(path):
    state = {"model": None}
    save(state, path)
    return state["optimizer"]  # expect: KEY101


class Loader:
    def __init__(self, data):
        self.data = data
        self.cache = self.build_cache()

    def build_cache(self):
        return {"case": list(self.data), "instances": []}


class Derived(Loader):
    def draw(self):
        return self.cache["foreground"]  # expect: KEY101
