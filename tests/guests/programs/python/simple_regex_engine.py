def match(pattern, text):
    if pattern.startswith("^"): return match_here(pattern[1:], text)
    return any(match_here(pattern, text[i:]) for i in range(len(text) + 1))

def match_here(p, t):
    if not p: return True
    if p == "$": return not t
    if len(p) > 1 and p[1] in "*+?":
        return match_repeat(p[0], p[1], p[2:], t)
    return bool(t) and p[0] in (t[0], ".") and match_here(p[1:], t[1:])

def match_repeat(c, op, p, t):
    if op in "*?" and match_here(p, t): return True
    i = 0
    while i < len(t) and c in (t[i], "."):
        i += 1
        if match_here(p, t[i:]): return True
        if op == "?": break
    return False

import re
for p, t in [("ab*c", "xxabbbc"), ("^a.c$", "abc"), ("^a.c$", "abcd"), ("colou?r", "color"), ("a+b", "b"), ("x*", ""), (".+z$", "fizz")]:
    mine, theirs = match(p, t), re.search(p, t) is not None
    print(f"{p:8} {t:8} {mine} {'ok' if mine == theirs else 'DIFFERENT'}")
