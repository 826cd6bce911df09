"""Cannot be imported: line 3 names nothing."""

SCALE = undefined_name
