"""Records: measurements made elsewhere, as signed statements about files, and the rules by which they are believed."""
