"""A compiler from arithmetic source to bytecode by the ast module, and a stack machine that runs it."""
import ast
import dis
import operator

OPS = {ast.Add: "ADD", ast.Sub: "SUB", ast.Mult: "MUL", ast.Div: "DIV", ast.Pow: "POW", ast.Mod: "MOD"}
FUNCS = {"ADD": operator.add, "SUB": operator.sub, "MUL": operator.mul, "DIV": operator.truediv, "POW": operator.pow, "MOD": operator.mod}


class Compiler(ast.NodeVisitor):
    def __init__(self):
        self.code = []

    def visit_Expression(self, node):
        self.visit(node.body)

    def visit_Constant(self, node):
        self.code.append(("PUSH", node.value))

    def visit_Name(self, node):
        self.code.append(("LOAD", node.id))

    def visit_BinOp(self, node):
        self.visit(node.left)
        self.visit(node.right)
        self.code.append((OPS[type(node.op)],))

    def visit_UnaryOp(self, node):
        self.visit(node.operand)
        self.code.append(("NEG",))

    def visit_IfExp(self, node):
        self.visit(node.test)
        jump = len(self.code)
        self.code.append(None)
        self.visit(node.body)
        end = len(self.code)
        self.code.append(None)
        self.code[jump] = ("JUMP_IF_FALSE", len(self.code))
        self.visit(node.orelse)
        self.code[end] = ("JUMP", len(self.code))

    def visit_Compare(self, node):
        self.visit(node.left)
        self.visit(node.comparators[0])
        self.code.append(("LT" if isinstance(node.ops[0], ast.Lt) else "GT",))

    def generic_visit(self, node):
        raise SyntaxError(f"cannot compile {type(node).__name__}")


def run(code, env):
    stack, pc = [], 0
    while pc < len(code):
        op, *arg = code[pc]
        pc += 1
        match op:
            case "PUSH":
                stack.append(arg[0])
            case "LOAD":
                stack.append(env[arg[0]])
            case "NEG":
                stack.append(-stack.pop())
            case "LT" | "GT":
                b, a = stack.pop(), stack.pop()
                stack.append(a < b if op == "LT" else a > b)
            case "JUMP":
                pc = arg[0]
            case "JUMP_IF_FALSE":
                if not stack.pop():
                    pc = arg[0]
            case _:
                b, a = stack.pop(), stack.pop()
                stack.append(FUNCS[op](a, b))
    return stack.pop()


for source in ("1 + 2 * 3", "(x - 4) ** 2 / -y", "x if x > y else y * 10", "[1, 2]", "x % 3 + z"):
    try:
        c = Compiler()
        c.visit(ast.parse(source, mode="eval"))
        print(source, "=>", c.code)
        print("   =", run(c.code, {"x": 10, "y": 3}))
    except (SyntaxError, KeyError) as e:
        print("   !", type(e).__name__, e)
tree = ast.parse("def f(a, b=1):\n    return [i * a for i in range(b)]")
print(ast.unparse(tree), [type(n).__name__ for n in ast.walk(tree)][:6], ast.literal_eval("{'a': (1, 2.5, None)}"))
print(eval(compile(tree.body[0].body[0].value, "x", "eval") if False else "sum(range(5))"), callable(dis.dis))
namespace = {}
exec("def double(n): return n * 2\nvalue = double(21)", namespace)
print(namespace["value"], sorted(k for k in namespace if not k.startswith("__")))
