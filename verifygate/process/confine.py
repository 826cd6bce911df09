"""Give up rights, then become another program. Started by its path, isolated from whatever there is.

Arguments: a file with the orders as JSON, and the command. The orders:

share    folders in which files are changed for good
own      folders of which it has an empty one of its own
cover    folders of which the program must have a private copy
guard    files and folders that it must not change for good, also where they lie in a shared folder
show     files and folders to be seen as they are where the folder around them is the program's own
hide     what is to be empty
replace  files to be seen with other text
answers  folders in which the gate listens
store    where the private copies go
required whether it is to have no network, no sockets of others, and an empty temporary folder
apart    whether namespaces are asked for: where they are granted in part only, the program is better off without
ids      whether process ids of its own are asked for
limits   limits of resources, by their number
needed   the layers without which it refuses
tell     the descriptor on which it says which layers hold, and `errno` where the command could not be started
alive    the descriptor that is closed when the gate is gone
parent   who started it

Each layer is tried by itself: `isolation.LAYERS` says what they are.
"""

import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))  # noqa: PTH100, PTH120

from verifygate.process.sandbox import main

if __name__ == "__main__":
    main()
