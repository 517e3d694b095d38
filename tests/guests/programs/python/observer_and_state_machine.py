from collections import defaultdict

class EventBus:
    def __init__(self): self.handlers = defaultdict(list)
    def on(self, name):
        def register(fn):
            self.handlers[name].append(fn)
            return fn
        return register
    def emit(self, name, *args):
        return [h(*args) for h in self.handlers[name]]

bus = EventBus()

@bus.on("paid")
def send_receipt(order): return f"receipt for {order}"

@bus.on("paid")
def ship(order): return f"shipping {order}"

print(bus.emit("paid", 42), bus.emit("nothing"))

TRANSITIONS = {("locked", "coin"): "unlocked", ("unlocked", "push"): "locked", ("locked", "push"): "locked", ("unlocked", "coin"): "unlocked"}
state = "locked"
for event in ["push", "coin", "coin", "push", "kick"]:
    try:
        state = TRANSITIONS[state, event]
        print(f"{event:>5} -> {state}")
    except KeyError:
        print(f"{event:>5} -> invalid in {state}")
