"""A scripted text adventure: state machine, inventory, command parser reading from standard input."""
import sys

ROOMS = {
    "hall": {"text": "A dusty hall.", "exits": {"north": "library", "east": "kitchen"}, "items": ["lamp"]},
    "library": {"text": "Books everywhere.", "exits": {"south": "hall"}, "items": ["book"], "dark": True},
    "kitchen": {"text": "It smells of soup.", "exits": {"west": "hall", "down": "cellar"}, "items": ["key", "soup"]},
    "cellar": {"text": "A locked chest stands here.", "exits": {"up": "kitchen"}, "items": []},
}


class Game:
    def __init__(self):
        self.room, self.bag, self.score, self.turns, self.over = "hall", [], 0, 0, False

    def look(self, *_):
        here = ROOMS[self.room]
        if here.get("dark") and "lamp" not in self.bag:
            return "It is too dark to see."
        items = f" You see: {', '.join(here['items'])}." if here["items"] else ""
        return f"{here['text']}{items} Exits: {', '.join(here['exits'])}."

    def go(self, direction=None, *_):
        if direction not in ROOMS[self.room]["exits"]:
            return "You cannot go there."
        self.room = ROOMS[self.room]["exits"][direction]
        return f"[{self.room}] " + self.look()

    def take(self, item=None, *_):
        here = ROOMS[self.room]
        if item not in here["items"] or (here.get("dark") and "lamp" not in self.bag):
            return f"There is no {item}."
        here["items"].remove(item)
        self.bag.append(item)
        self.score += 5
        return f"Taken: {item}."

    def use(self, item=None, *_):
        if item not in self.bag:
            return "You do not have that."
        if item == "key" and self.room == "cellar":
            self.score += 50
            self.over = True
            return "The chest opens. You win!"
        return "Nothing happens."

    def inventory(self, *_):
        return "You carry: " + (", ".join(sorted(self.bag)) or "nothing")

    def command(self, line):
        self.turns += 1
        verb, *rest = line.lower().split() or [""]
        verb = {"n": "go north", "s": "go south", "i": "inventory", "l": "look"}.get(verb, verb)
        verb, *more = verb.split() or [""]
        method = getattr(self, verb, None) if verb in {"look", "go", "take", "use", "inventory"} else None
        return method(*more, *rest) if method else f"I don't know how to {verb or 'do nothing'}."


game = Game()
print(game.look())
while not game.over:
    try:
        line = input("> ")
    except EOFError:
        print("\n(the end of the story)")
        break
    print(game.command(line))
print(f"Score {game.score} in {game.turns} turns.")
sys.exit(0 if game.over else 4)
