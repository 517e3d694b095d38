"""A worker on threads of this process.

In reading order: `worker` (the verbs), `threads` (where runs compute), `slots` (how many at once), `run_relay` (calls and output
to the gateway), `file_changes` (files that a run changed), `state_packs` (sessions as bytes), `suspensions` (runs that wait),
`side_programs` (programs next to a session), `folders` with `folder_files` (files and commands without a session),
`wasm_programs` (modules of hooks), `typescript_parser` (erasing types in the jail).
"""
