from collections import Counter
def feedback(guess, answer):
    marks, left = ["-"] * 5, Counter()
    for i, (g, a) in enumerate(zip(guess, answer)):
        if g == a: marks[i] = "G"
        else: left[a] += 1
    for i, g in enumerate(guess):
        if marks[i] == "-" and left[g] > 0:
            marks[i] = "Y"
            left[g] -= 1
    return "".join(marks)

words = "crane slate trace grace place brace abbey eerie speed erase creep".split()
answer = "creep"
pool = words
for guess in ["slate", "erase", "speed", "creep"]:
    f = feedback(guess, answer)
    pool = [w for w in pool if feedback(guess, w) == f]
    print(guess, f, pool)
