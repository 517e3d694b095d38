"""Sessions: files and guests, and the way of one run.

In reading order: `session` (the way of a run), `request_checks` (what is refused before), `guest_answers` (what a guest is told
during its turn), `outcome` (what it reports), `results` (what comes of a turn), `limit_errors` (what is said of a limit),
`nested_programs` (programs that a program starts), `command_lines` (what is run for a command line), `host_files` (the host's
access to files).
"""
