"""Another table of that name."""

KINDS = {}


def register(name, kind):
    KINDS[name.upper()] = kind
