import operator, math

def tokenize(s): return s.replace("(", " ( ").replace(")", " ) ").split()

def read(tokens):
    t = tokens.pop(0)
    if t == "(":
        out = []
        while tokens[0] != ")":
            out.append(read(tokens))
        tokens.pop(0)
        return out
    try: return int(t)
    except ValueError:
        try: return float(t)
        except ValueError: return t

ENV = {"+": lambda *a: sum(a), "-": operator.sub, "*": lambda *a: math.prod(a), "/": operator.truediv, "<": operator.lt,
       "=": operator.eq, "list": lambda *a: list(a), "car": lambda l: l[0], "cdr": lambda l: l[1:], "null?": lambda l: not l,
       "cons": lambda a, b: [a] + b}

def evaluate(x, env):
    while True:
        if isinstance(x, str):
            while x not in env: env = env["__outer__"]
            return env[x]
        if not isinstance(x, list): return x
        head = x[0]
        if head == "quote": return x[1]
        if head == "if":
            x = x[2] if evaluate(x[1], env) else x[3]
        elif head == "define":
            env[x[1]] = evaluate(x[2], env)
            return None
        elif head == "lambda":
            params, body, outer = x[1], x[2], env
            return lambda *args: evaluate(body, {**dict(zip(params, args)), "__outer__": outer})
        else:
            f, *args = [evaluate(e, env) for e in x]
            return f(*args)

program = """
(define fact (lambda (n) (if (< n 2) 1 (* n (fact (- n 1))))))
(fact 20)
(define map (lambda (f l) (if (null? l) (quote ()) (cons (f (car l)) (map f (cdr l))))))
(map (lambda (x) (* x x)) (list 1 2 3 4))
((lambda (a b) (/ (+ a b) 2)) 3 4)
(fact 60)
"""
tokens = tokenize(program)
while tokens:
    result = evaluate(read(tokens), ENV)
    if result is not None:
        print(result)
