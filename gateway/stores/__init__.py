"""Everything the gateway remembers, in memory, SQLite or PostgreSQL behind one class.

In reading order: `tables` (what is stored), `stored` (what reads return, and limits), `changes` (what may be written),
`row_operations` (what an engine can do), `store` (the reads and the one write), `pages` (one record, a page, a whole list),
`mutations` (what each change means), `transaction` (one write while it is applied), `ledger` (usage and quotas), `audit_chain`
(linked records), `file_permissions` (what a session's user may do), `file_mutations`, `session_mutations`, `approval_mutations`
(changes with rules of their own), `fence` (only a tenant's owner writes), `expiry` (what is deleted by age), `text_search`
(grep), `factory` (open a store by its name), `engines/` (the three engines).
"""
