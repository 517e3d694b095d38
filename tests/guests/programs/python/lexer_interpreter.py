"""An interpreter for a tiny language with functions and closures: lexer, Pratt parser, evaluator."""
import operator
import re
import sys

sys.setrecursionlimit(5000)
SPEC = re.compile(r"(?P<ws>[ \t\n]+|#[^\n]*)|(?P<num>\d+)|(?P<str>\"[^\"]*\")|(?P<id>[a-z_]\w*)|(?P<op>==|!=|<=|>=|->|[-+*/%<>=(){},;!])")
WORDS = {"let", "fn", "if", "else", "while", "print", "return", "true", "false"}


def lex(src):
    pos, out = 0, []
    while pos < len(src):
        m = SPEC.match(src, pos)
        if m is None:
            raise SyntaxError(f"bad character {src[pos]!r}")
        if m.lastgroup != "ws":
            kind = m.group() if m.lastgroup == "op" or m.group() in WORDS else m.lastgroup
            out.append((kind, m.group()))
        pos = m.end()
    return [*out, ("eof", "")]


class Return(Exception):
    pass


class Parser:
    POWER = {"==": 1, "!=": 1, "<": 2, ">": 2, "<=": 2, ">=": 2, "+": 3, "-": 3, "*": 4, "/": 4, "%": 4}

    def __init__(self, src):
        self.toks, self.i = lex(src), 0

    def peek(self):
        return self.toks[self.i][0]

    def next(self, want=None):
        kind, text = self.toks[self.i]
        if want and kind != want:
            raise SyntaxError(f"expected {want}, got {text or kind}")
        self.i += 1
        return text

    def block(self):
        self.next("{")
        body = []
        while self.peek() != "}":
            body.append(self.statement())
        self.next("}")
        return body

    def statement(self):
        kind = self.peek()
        if kind == "let":
            self.next()
            name = self.next("id")
            self.next("=")
            node = ("let", name, self.expr())
        elif kind in ("print", "return"):
            self.next()
            node = (kind, self.expr())
        elif kind == "while":
            self.next()
            return ("while", self.expr(), self.block())
        elif kind == "if":
            self.next()
            cond, then = self.expr(), self.block()
            other = []
            if self.peek() == "else":
                self.next()
                other = [self.statement()] if self.peek() == "if" else self.block()
            return ("if", cond, then, other)
        elif kind == "id" and self.toks[self.i + 1][0] == "=":
            name = self.next()
            self.next()
            node = ("set", name, self.expr())
        else:
            node = ("expr", self.expr())
        self.next(";")
        return node

    def expr(self, power=0):
        left = self.prefix()
        while self.POWER.get(self.peek(), 0) > power:
            op = self.next()
            left = ("bin", op, left, self.expr(self.POWER[op]))
        return left

    def prefix(self):
        kind = self.peek()
        text = self.next()
        if kind == "num":
            node = ("const", int(text))
        elif kind == "str":
            node = ("const", text[1:-1])
        elif kind in ("true", "false"):
            node = ("const", kind == "true")
        elif kind == "id":
            node = ("var", text)
        elif kind == "-":
            return ("neg", self.prefix())
        elif kind == "(":
            node = self.expr()
            self.next(")")
        elif kind == "fn":
            self.next("(")
            params = []
            while self.peek() != ")":
                params.append(self.next("id"))
                if self.peek() == ",":
                    self.next()
            self.next(")")
            node = ("fn", params, self.block())
        else:
            raise SyntaxError(f"unexpected {text or kind}")
        while self.peek() == "(":
            self.next()
            args = []
            while self.peek() != ")":
                args.append(self.expr())
                if self.peek() == ",":
                    self.next()
            self.next(")")
            node = ("call", node, args)
        return node


class Env(dict):
    def __init__(self, parent=None):
        self.parent = parent

    def find(self, name):
        env = self
        while env is not None:
            if name in env:
                return env
            env = env.parent
        raise NameError(f"undefined {name}")


OPS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.floordiv, "%": operator.mod, "==": operator.eq,
       "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}


def ev(node, env):
    match node:
        case ("const", v):
            return v
        case ("var", name):
            return env.find(name)[name]
        case ("neg", x):
            return -ev(x, env)
        case ("bin", op, a, b):
            return OPS[op](ev(a, env), ev(b, env))
        case ("fn", params, body):
            def call(*args):
                local = Env(env)
                local.update(zip(params, args))
                try:
                    run(body, local)
                except Return as r:
                    return r.args[0]
            return call
        case ("call", f, args):
            return ev(f, env)(*(ev(a, env) for a in args))


def run(body, env):
    for node in body:
        match node:
            case ("let", name, x):
                env[name] = ev(x, env)
            case ("set", name, x):
                env.find(name)[name] = ev(x, env)
            case ("print", x):
                print(ev(x, env))
            case ("return", x):
                raise Return(ev(x, env))
            case ("expr", x):
                ev(x, env)
            case ("while", cond, inner):
                while ev(cond, env):
                    run(inner, env)
            case ("if", cond, then, other):
                run(then if ev(cond, env) else other, env)


PROGRAM = """
let fib = fn(n) { if n < 2 { return n; } return fib(n - 1) + fib(n - 2); };
print fib(15);
let counter = fn() { let c = 0; return fn() { c = c + 1; return c; }; };
let tick = counter(); tick(); tick();
print tick();
let i = 0; let text = "";
while i < 5 { if i % 2 == 0 { text = text + "e"; } else if i == 3 { text = text + "!"; } else { text = text + "o"; } i = i + 1; }
print text;
let depth = fn(n) { if n == 0 { return 0; } return 1 + depth(n - 1); };
print depth(100);   # recursion
print -(2 + 3) * 4 == -20;
"""
src = Parser(PROGRAM)
body = []
while src.peek() != "eof":
    body.append(src.statement())
run(body, Env())
for bad in ("let = 3;", "print 1", "print x;", "print 2 $ 3;"):
    try:
        p = Parser(bad)
        run([p.statement()], Env())
    except (SyntaxError, NameError) as e:
        print(type(e).__name__, "-", e)
