def grade(n):
    if n == 0: return "zero"
    elif n == 1: return "one"
    elif n == 2: return "two"
    elif n == 3: return "three"
    elif n == 4: return "four"
    elif n == 5: return "five"
    elif n == 6: return "six"
    elif n == 7: return "seven"
    elif n == 8: return "eight"
    elif n == 9: return "nine"
    elif n == 10: return "ten"
    elif n == 11: return "eleven"
    elif n == 12: return "twelve"
    elif n == 13: return "thirteen"
    elif n == 14: return "fourteen"
    elif n == 15: return "fifteen"
    elif n == 16: return "sixteen"
    elif n == 17: return "seventeen"
    elif n == 18: return "eighteen"
    elif n == 19: return "nineteen"
    elif n == 20: return "twenty"
    elif n < 30: return "twenties"
    elif n < 40: return "thirties"
    elif n < 50: return "forties"
    elif n < 60: return "fifties"
    elif n < 70: return "sixties"
    elif n < 80: return "seventies"
    elif n < 90: return "eighties"
    elif n < 100: return "nineties"
    else: return "many"
print([grade(n) for n in (0, 7, 20, 33, 99, 100)])
source = " + ".join(f"x{i}" for i in range(400))
print(eval(source, {f"x{i}": i for i in range(400)}))
chain = "x = 0\nif False: pass\n" + "".join(f"elif n == {i}: x = {i} * 2\n" for i in range(150))
scope = {"n": 120}
exec(chain, scope)
print(scope["x"])
