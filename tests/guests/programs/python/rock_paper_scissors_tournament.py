import random
random.seed(99)
BEATS = {"rock": "scissors", "paper": "rock", "scissors": "paper"}

class Player:
    def __init__(self, name): self.name, self.wins = name, 0
    def play(self, history): return random.choice(list(BEATS))

class Copycat(Player):
    def play(self, history): return history[-1] if history else "rock"

class Counter(Player):
    def play(self, history):
        if not history: return "paper"
        last = history[-1]
        return next(k for k, v in BEATS.items() if v == last)

players = [Player("random"), Copycat("copycat"), Counter("counter")]
for i, a in enumerate(players):
    for b in players[i + 1:]:
        ha, hb, score = [], [], [0, 0]
        for _ in range(25):
            ma, mb = a.play(hb), b.play(ha)
            ha.append(ma); hb.append(mb)
            if BEATS[ma] == mb: score[0] += 1
            elif BEATS[mb] == ma: score[1] += 1
        print(f"{a.name} vs {b.name}: {score[0]}-{score[1]}")
