import glob, os
for name in ["a.txt", "b.txt", "c.log", "sub/d.txt", "sub/deep/e.txt"]:
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "w") as f:
        f.write(name * 10)
print(sorted(glob.glob("*.txt")), sorted(glob.glob("**/*.txt", recursive=True)))
total = 0
for root, dirs, files in os.walk("."):
    dirs.sort()
    for f in sorted(files):
        if f.endswith((".txt", ".log")):
            total += os.path.getsize(os.path.join(root, f))
print(total)
with os.scandir("sub") as it:
    print(sorted((e.name, e.is_dir()) for e in it))
