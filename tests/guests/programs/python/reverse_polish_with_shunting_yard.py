def to_rpn(expr):
    prec, out, stack = {"+": 1, "-": 1, "*": 2, "/": 2}, [], []
    for t in expr.split():
        if t.isdigit(): out.append(t)
        elif t == "(": stack.append(t)
        elif t == ")":
            while stack[-1] != "(": out.append(stack.pop())
            stack.pop()
        else:
            while stack and stack[-1] != "(" and prec[stack[-1]] >= prec[t]: out.append(stack.pop())
            stack.append(t)
    return out + stack[::-1]

def evaluate(rpn):
    stack = []
    for t in rpn:
        if t.isdigit(): stack.append(int(t))
        else:
            b, a = stack.pop(), stack.pop()
            stack.append({"+": a + b, "-": a - b, "*": a * b, "/": a // b if b else 0}[t])
    return stack[0]

for e in ["3 + 4 * 2", "( 3 + 4 ) * 2", "10 - 2 - 3", "2 * ( 3 + ( 4 - 1 ) ) / 3"]:
    r = to_rpn(e)
    print(e, "=>", " ".join(r), "=", evaluate(r))
