"""The filesystem of a session, in memory.

In reading order: `vfs` (what hosts use), `namespace` (names: create, move, remove), `lookup` (paths to nodes), `inode_table`
(nodes, quotas, checkpoints), `inodes` (files, directories, links), `contents` (bytes in shared blocks), `descriptors` (open
files), `file_locks` (between guests), `paths` (normal form), `standard_tree` (what every session starts with), `errnos`
(refusals).
"""
