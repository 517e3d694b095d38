import os, re, pathlib
root = pathlib.Path("project")
(root / "src").mkdir(parents=True, exist_ok=True)
(root / "src" / "a.py").write_text("import old_name\nold_name.run()\n")
(root / "src" / "b.txt").write_text("nothing here\n")
(root / "README.md").write_text("Use old_name like old_name.run\n")
total = 0
for path in sorted(root.rglob("*")):
    if path.is_file():
        text = path.read_text()
        text, n = re.subn(r"\bold_name\b", "new_name", text)
        if n:
            path.write_text(text)
        total += n
        print(f"{path.as_posix()}: {n}")
print("total", total)
print((root / "src" / "a.py").read_text())
for base, dirs, files in os.walk("project"):
    print(base, sorted(dirs), sorted(files))
