"""A recursive-descent calculator: tokens, precedence, unary minus, functions, variables, helpful errors."""
import math
import re
from dataclasses import dataclass, field

TOKEN = re.compile(r"\s*(?:(?P<num>\d+\.?\d*(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<op>\*\*|[-+*/%^(),=]))")


class ParseError(ValueError):
    def __init__(self, message, position):
        super().__init__(f"{message} at {position}")
        self.position = position


def tokenize(text):
    pos, out = 0, []
    text = text.rstrip()
    while pos < len(text):
        m = TOKEN.match(text, pos)
        if not m:
            raise ParseError(f"unexpected {text[pos]!r}", pos)
        out.append((m.lastgroup, m.group(m.lastgroup), m.start(m.lastgroup)))
        pos = m.end()
    out.append(("end", "", len(text)))
    return out


@dataclass
class Calculator:
    variables: dict = field(default_factory=lambda: {"pi": math.pi, "e": math.e})
    functions: dict = field(default_factory=lambda: {"sqrt": math.sqrt, "max": max, "min": min, "abs": abs})

    def evaluate(self, text):
        self.tokens, self.i = tokenize(text), 0
        if self.tokens[0][0] == "name" and self.tokens[1][1] == "=":
            name = self.tokens[0][1]
            self.i = 2
            value = self.variables[name] = self.sum()
        else:
            value = self.sum()
        kind, text, pos = self.tokens[self.i]
        if kind != "end":
            raise ParseError(f"unexpected {text!r}", pos)
        return value

    def take(self, *ops):
        kind, text, _ = self.tokens[self.i]
        if kind == "op" and text in ops:
            self.i += 1
            return text

    def sum(self):
        value = self.product()
        while op := self.take("+", "-"):
            right = self.product()
            value = value + right if op == "+" else value - right
        return value

    def product(self):
        value = self.unary()
        while op := self.take("*", "/", "%"):
            right = self.unary()
            value = value * right if op == "*" else value / right if op == "/" else value % right
        return value

    def unary(self):
        if self.take("-"):
            return -self.unary()
        return self.power()

    def power(self):
        base = self.atom()
        if self.take("^", "**"):
            return base ** self.unary()
        return base

    def atom(self):
        kind, text, pos = self.tokens[self.i]
        self.i += 1
        if kind == "num":
            return float(text) if any(c in text for c in ".eE") else int(text)
        if kind == "name":
            if self.take("("):
                args = []
                if not self.take(")"):
                    args.append(self.sum())
                    while self.take(","):
                        args.append(self.sum())
                    if not self.take(")"):
                        raise ParseError("expected ')'", self.tokens[self.i][2])
                return self.functions[text](*args)
            if text not in self.variables:
                raise ParseError(f"unknown name {text!r}", pos)
            return self.variables[text]
        if text == "(":
            value = self.sum()
            if not self.take(")"):
                raise ParseError("expected ')'", self.tokens[self.i][2])
            return value
        raise ParseError("expected a value", pos)


calc = Calculator()
for line in ["1 + 2 * 3", "-2 ^ 2", "2 ^ 3 ^ 2", "(1+2)*-3", "x = sqrt(16) + max(1, 2, 3)", "x % 4", "1e3 / 8", "7 / 0", "2 +", "3 $ 4",
             "foo + 1", "(1 + 2", "2 * pi", "abs(-3) 4"]:
    try:
        print(f"{line:<30} = {calc.evaluate(line)}")
    except (ParseError, ZeroDivisionError) as error:
        print(f"{line:<30} ! {type(error).__name__}: {error}")
