"""dulwich, which reads and writes git's formats: imported while the image is made, and only then.

Its archive is no file of any session. What it imports late is brought in here, because it cannot be later.
"""

import importlib
import sys
import zipimport

ARCHIVE = "/usr/local/lib/dulwich.zip"
LATE = (
    "attrs",
    "bitmap",
    "commit_graph",
    "config",
    "graph",
    "ignore",
    "midx",
    "object_format",
    "reflog",
    "reftable",
    "repo",
    "worktree",
)

sys.path.append(ARCHIVE)
for name in LATE:
    importlib.import_module(f"dulwich.{name}")
sys.path.remove(ARCHIVE)
sys.path_importer_cache.clear()
getattr(zipimport, "_zip_directory_cache", {}).pop(ARCHIVE, None)
