def register(name, kind):
    from kinds import KINDS

    KINDS[name.upper()] = kind
