"""Hangman played by a simple frequency strategy over a dictionary."""
from collections import Counter

WORDS = "python jazz rhythm banana orange puzzle quartz wizard galaxy oxygen kiosk zombie".split()


def pattern(word, guessed):
    return "".join(c if c in guessed else "_" for c in word)


def play(secret, lives=6):
    guessed, missed = set(), []
    candidates = list(WORDS)
    while True:
        shown = pattern(secret, guessed)
        if "_" not in shown:
            return True, shown, missed
        if len(missed) == lives:
            return False, shown, missed
        candidates = [w for w in candidates if len(w) == len(secret) and pattern(w, guessed) == shown and not set(w) & set(missed)]
        counts = Counter(c for w in candidates for c in set(w) if c not in guessed)
        letter = min(counts, key=lambda c: (-counts[c], c))
        if letter in secret:
            guessed.add(letter)
        else:
            missed.append(letter)


for word in WORDS:
    won, shown, missed = play(word)
    print(f"{word:<8} {'won ' if won else 'lost'} {shown} missed={''.join(missed) or '-'}")
wins = [play(w)[0] for w in WORDS]
print(f"{sum(wins)}/{len(wins)}", all(wins), any(not w for w in wins))
