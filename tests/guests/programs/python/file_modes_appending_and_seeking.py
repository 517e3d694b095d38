with open("log.txt", "w") as f:
    f.write("first\n")
    print(f.tell(), f.writable(), f.readable())
with open("log.txt", "a") as f:
    f.writelines(["second\n", "third\n"])
with open("log.txt") as f:
    print(f.readline().strip(), [line.rstrip() for line in f])
with open("log.txt", "rb+") as f:
    f.seek(-6, 2)
    print(f.read())
    f.seek(0)
    f.write(b"FIRST")
print(open("log.txt").read().splitlines())
try:
    open("missing.txt")
except FileNotFoundError as e:
    print(type(e).__name__, e.filename)
try:
    open("log.txt", "x")
except FileExistsError:
    print("exists")
import os
os.rename("log.txt", "old.txt")
print(os.path.getsize("old.txt"), os.path.isfile("log.txt"))
