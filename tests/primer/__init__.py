"""The primer: the findings of two revisions of the rules on pinned packages of the package index.

`packages.txt` lists the packages by version and digest; they are downloaded, unpacked and never run.
"""
