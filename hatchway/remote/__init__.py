"""`hatchway remote`: a gateway from the command line.

In reading order: `command` (the verbs and their options), `table_verbs` (verbs that are rows of the clients' table), `verbs`
(verbs that make more than one request or ask a person), `attachment` (this terminal, connected to a command's), `policy_sources`
(a policy on disk, as a gateway wants it), `answers` (how answers are shown), `hints` (a gateway's hints in the words of the
command line).
"""
