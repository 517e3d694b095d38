import tempfile, os, shutil, pathlib
with tempfile.TemporaryDirectory() as folder:
    p = pathlib.Path(folder) / "a" / "b.txt"
    p.parent.mkdir()
    p.write_text("data")
    print(p.name, p.suffix, p.stem, p.parent.name, p.stat().st_size, p.exists())
    shutil.copy(p, p.with_suffix(".bak"))
    print(sorted(x.name for x in p.parent.iterdir()))
    shutil.rmtree(p.parent)
    print(os.listdir(folder))
print(os.path.exists(folder))
print(os.path.join("a", "..", "b"), os.path.normpath("a/../b//c"), os.path.splitext("x.tar.gz"), pathlib.PurePath("/a/b").relative_to("/a"))
