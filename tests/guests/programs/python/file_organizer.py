"""Make a tree of files, sort them by extension, find duplicates by hash, write a manifest, zip it."""
import hashlib
import os
import shutil
import tempfile
import zipfile
from collections import defaultdict
from pathlib import Path

root = Path(tempfile.mkdtemp(prefix="organize-"))
for name, text in {
    "notes.txt": "hello", "copy of notes.txt": "hello", "photo.JPG": "\x89data", "report.pdf": "%PDF", "a/b/deep.txt": "deep\n" * 3,
    "a/script.py": "print(1)", "no_extension": "?", "archive.tar.gz": "gz",
}.items():
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
print(sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()))
KINDS = {".txt": "text", ".md": "text", ".jpg": "images", ".png": "images", ".pdf": "documents", ".py": "code", ".gz": "archives"}
moved = defaultdict(list)
for path in sorted(root.rglob("*")):
    if path.is_file():
        target = root / "sorted" / KINDS.get(path.suffix.lower(), "other")
        target.mkdir(parents=True, exist_ok=True)
        shutil.move(path, target / path.name)
        moved[target.name].append(path.name)
for kind in sorted(moved):
    print(kind, sorted(moved[kind]))
for folder, dirs, files in os.walk(root, topdown=False):
    if not os.listdir(folder):
        os.rmdir(folder)
print(sorted(p.name for p in root.iterdir()))
hashes = defaultdict(list)
for path in (root / "sorted").rglob("*"):
    if path.is_file():
        hashes[hashlib.sha256(path.read_bytes()).hexdigest()].append(path.name)
print("duplicates:", [sorted(v) for v in hashes.values() if len(v) > 1])
total = sum(p.stat().st_size for p in root.rglob("*") if p.is_file())
print("total bytes", total)
with zipfile.ZipFile(root / "all.zip", "w", zipfile.ZIP_DEFLATED) as z:
    for path in sorted((root / "sorted").rglob("*.txt")):
        z.write(path, path.relative_to(root))
with zipfile.ZipFile(root / "all.zip") as z:
    print([(i.filename, i.file_size) for i in z.infolist()], z.testzip())
    print(z.read("sorted/text/deep.txt").decode().splitlines())
link = root / "latest"
link.symlink_to("all.zip")
print(link.is_symlink(), os.readlink(link), link.resolve().name, link.stat().st_size == (root / "all.zip").stat().st_size)
p = Path("/usr/local/lib/archive.tar.gz")
print(p.stem, p.suffixes, p.parts[:3], p.with_suffix(".zip").name, p.parent.parent, p.match("*.gz"), Path("a/../b").as_posix())
shutil.copytree(root / "sorted", root / "backup", ignore=shutil.ignore_patterns("*.py"))
print(len(list((root / "backup").rglob("*.*"))))
os.chmod(root / "all.zip", 0o600)
print(oct((root / "all.zip").stat().st_mode & 0o777))
shutil.rmtree(root)
print(root.exists())
