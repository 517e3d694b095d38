from collections import defaultdict
import re

def is_palindrome(s):
    s = re.sub(r"[\W_]", "", s).casefold()
    return s == s[::-1]

for s in ["A man, a plan, a canal: Panama", "Not a palindrome", "Was it a car or a cat I saw?", ""]:
    print(f"{s!r}: {is_palindrome(s)}")
groups = defaultdict(list)
for word in "listen silent enlist google elbow below cat act tac inlets".split():
    groups["".join(sorted(word))].append(word)
print(sorted((sorted(g) for g in groups.values() if len(g) > 1), key=len, reverse=True))
print(set("abcdefghijklmnopqrstuvwxyz") <= set("The quick brown fox jumps over the lazy dog".lower()))
