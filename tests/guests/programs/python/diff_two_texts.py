import difflib
old = "one\ntwo\nthree\nfour\n".splitlines(keepends=True)
new = "one\n2\nthree\nfour\nfive\n".splitlines(keepends=True)
print("".join(list(difflib.unified_diff(old, new, "old.txt", "new.txt"))[2:]))
print(difflib.get_close_matches("appel", ["ape", "apple", "peach", "puppy"]))
print(round(difflib.SequenceMatcher(None, "abcd", "bcde").ratio(), 3))
