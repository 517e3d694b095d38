word, guesses = "python", iter("eatpxyhzon")
found, wrong = set(), []
while len(wrong) < 6:
    g = next(guesses)
    if g in word:
        found.add(g)
    else:
        wrong.append(g)
    shown = " ".join(c if c in found else "_" for c in word)
    print(f"{g}: {shown}   wrong: {''.join(wrong)}")
    if set(word) <= found:
        print("You win!")
        break
else:
    print("You lose, it was", word)
