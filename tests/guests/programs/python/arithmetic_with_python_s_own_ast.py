import ast, operator
OPS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
       ast.Pow: operator.pow, ast.USub: operator.neg, ast.Mod: operator.mod, ast.FloorDiv: operator.floordiv}

def safe_eval(expr):
    def walk(node):
        match node:
            case ast.Expression(body): return walk(body)
            case ast.Constant(value=int() | float() as v): return v
            case ast.BinOp(l, op, r): return OPS[type(op)](walk(l), walk(r))
            case ast.UnaryOp(op, v): return OPS[type(op)](walk(v))
            case _: raise ValueError(f"not allowed: {type(node).__name__}")
    return walk(ast.parse(expr, mode="eval"))

for e in ["2 + 3 * 4", "-(2 ** 10) % 7", "7 // 2 / 2", "__import__('os')", "1 +"]:
    try:
        print(e, "=", safe_eval(e))
    except (ValueError, SyntaxError) as err:
        print(e, "->", type(err).__name__)
tree = ast.parse("def f(x, y=2):\n    return x + y\n")
print([n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)], ast.unparse(tree))
