import io, zipfile, tarfile, gzip
buf = io.BytesIO()
with zipfile.ZipFile(buf, "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("a/hello.txt", "hello " * 100)
    z.writestr("b.csv", "x,y\n1,2\n")
with zipfile.ZipFile(buf) as z:
    for info in z.infolist():
        print(info.filename, info.file_size, info.compress_size < info.file_size + 10)
    print(z.read("b.csv").decode(), z.testzip())
raw = gzip.compress(b"abc" * 1000, mtime=0)
print(len(gzip.decompress(raw)), raw[:2].hex())
out = io.BytesIO()
with tarfile.open(fileobj=out, mode="w:gz") as t:
    data = b"content"
    info = tarfile.TarInfo("dir/file.txt")
    info.size = len(data)
    t.addfile(info, io.BytesIO(data))
out.seek(0)
with tarfile.open(fileobj=out) as t:
    print(t.getnames(), t.extractfile("dir/file.txt").read())
