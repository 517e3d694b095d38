import re, operator

OPS = {"+": (1, operator.add), "-": (1, operator.sub), "*": (2, operator.mul), "/": (2, operator.truediv), "^": (3, operator.pow)}

def tokenize(s):
    return re.findall(r"\d+\.?\d*|[-+*/^()]", s)

def parse(tokens, min_prec=1):
    left = atom(tokens)
    while tokens and tokens[0] in OPS and OPS[tokens[0]][0] >= min_prec:
        op = tokens.pop(0)
        prec, fn = OPS[op]
        right = parse(tokens, prec if op == "^" else prec + 1)
        left = fn(left, right)
    return left

def atom(tokens):
    t = tokens.pop(0)
    if t == "(":
        value = parse(tokens)
        assert tokens.pop(0) == ")"
        return value
    if t == "-":
        return -atom(tokens)
    return float(t) if "." in t else int(t)

for expr in ["1 + 2 * 3", "(1 + 2) * 3", "2 ^ 3 ^ 2", "-4 + 10 / 4", "3.5 * (2 - -1)", "((((7))))"]:
    print(f"{expr} = {parse(tokenize(expr))}")
