"""What sessions start with, and storage that outlives them.

In reading order: `manifests` (entries, mounts, volumes), `store_mounts` (a store's objects as files of a session, kept alike),
`object_stores` (S3, and folders of the operator).
"""
