"""`python -I -m verifygate`: the command line, where the script of that name is not on the path.

Without `-I` Python puts the working folder in front of its own modules before this runs.
"""

import sys

from verifygate.base.clean_start import leave_out_checkout

leave_out_checkout()

from verifygate.cli import main  # noqa: E402 - what it imports may lie in the working folder too

sys.exit(main())
