"""What the methods of Python's containers do to what the container holds, by name.

Source: the documentation of `list`, `set`, `dict`, `collections.deque` and `queue.Queue`. An object of the project may
have a method of such a name that does something else: who asks decides whether that matters.
"""

from __future__ import annotations

PUT_ONE = frozenset({"append", "appendleft", "add", "insert", "put", "put_nowait"})
"""Put their argument into a container without keys."""
PUT_ALL = frozenset({"extend", "extendleft"})
"""Put each element of their argument into one."""
SET_KEYS = frozenset({"update", "setdefault", "__setitem__"})
"""Give keys of a dict a value."""
TAKE_OUT = frozenset({"remove", "pop", "popitem", "popleft", "clear", "discard"})
"""Take elements out."""
MOVE = frozenset({"reverse", "sort", "rotate"})
"""Change the order of the elements."""

PUT = PUT_ONE | PUT_ALL | SET_KEYS
"""Put anything in."""
CHANGE = PUT | TAKE_OUT | MOVE
"""Change a container in place."""
