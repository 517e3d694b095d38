"""Files and values of sessions, as the API and programs see them.

In reading order: `files` (files as the store has them), `governed_files` (the same under the session's policy), `overlay` (what
calls and hooks wrote over the stored files), `tar` (many files at once), `values` (small values by key),
`contract_filesystem` (the file-system contract over the store).
"""
