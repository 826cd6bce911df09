"""Settings that are edited by hand."""

use_amp = False
clip = True
