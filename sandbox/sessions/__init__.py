"""Sessions: files and guests, and the way of one run.

In reading order: `session` (the way of a run), `request_checks` (what is refused before), `outcome` (what a guest reports),
`host_files` (the host's access to files).
"""
