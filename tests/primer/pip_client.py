"""A client of the package index, run by itself: `python pip_client.py NAME [FILE TARGET]`.

Prints the files of a project as a JSON list of version and file name, or writes one file to TARGET (exit code 4: the
project has none of that name). Two parts of pip are used: the finder, and the session, which knows the configured
indexes, proxies, certificates and credentials. `pip download` itself would build the metadata of a source distribution,
and so run its setup.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

MISSING = 4


def main(name: str, file: str = "", target: str = "") -> int:
    from pip._internal.commands.download import DownloadCommand
    from pip._internal.models.target_python import TargetPython

    command = DownloadCommand("download", "")
    options, _ = command.parse_args([])
    session = command._build_session(options)
    finder = command._build_package_finder(
        options=options, session=session, target_python=TargetPython(), ignore_requires_python=True
    )
    found = finder.find_all_candidates(name)
    if not file:
        print(json.dumps([[str(each.version), each.link.filename] for each in found]))
        return 0
    link = next((each.link for each in found if each.link.filename == file), None)
    if link is None:
        return MISSING
    answer = session.get(link.url_without_fragment, stream=True, headers={"Accept-Encoding": "identity"})
    answer.raise_for_status()
    with Path(target).open("wb") as out:
        out.writelines(answer.iter_content(1 << 20))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
