"""Tools: what authors and operators do with policies.

In reading order: `commands` (the table of verbs), `actions` (what each verb does), `request_arguments` (a request from a command
line), `diff` (what a change changes), `replay` (recorded decisions), `bundles` (signed policies), `editor_queries` (what an
editor asks), `language_server` (the editor's protocol).
"""
