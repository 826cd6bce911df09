"""`python -m verifygate`: the command line where the script of that name is not on the path."""

import sys

from verifygate.cli import main

sys.exit(main())
