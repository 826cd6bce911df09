"""Record the twin programs under the torch of this interpreter, and list those that ran otherwise than kept.

The last line printed is a JSON list. `make release-watch PYTHON=...` starts it; nothing is kept.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from programs import programs
from record import Recorded, kept, recordings


def moved(before: dict[str, Recorded], now: dict[str, Recorded]) -> list[str]:
    """A line for each program of both whose events, or whose end, differ."""
    found = []
    for name in sorted(before.keys() & now.keys()):
        one, other = before[name], now[name]
        if one.ended != other.ended:
            found.append(f"{name}: {other.ended or 'ran to its end'} (kept: {one.ended or 'ran to its end'})")
        elif one.rows != other.rows:
            at = next((n for n, pair in enumerate(zip(one.rows, other.rows, strict=False)) if pair[0] != pair[1]), None)
            where = "their number" if at is None else f"the first is number {at}: {other.rows[at]}"
            found.append(f"{name}: other events, {where}")
    return found


if __name__ == "__main__":
    known = kept()
    print(json.dumps(moved(known, recordings(programs(), keep=False))))
