rooms = {
    "hall": {"north": "library", "east": "kitchen", "text": "A dusty hall."},
    "library": {"south": "hall", "item": "lamp", "text": "Shelves of books."},
    "kitchen": {"west": "hall", "down": "cellar", "text": "It smells of soup."},
    "cellar": {"up": "kitchen", "text": "It is dark.", "needs": "lamp"},
}
here, bag = "hall", []
for command in ["look", "east", "down", "west", "north", "take", "take", "south", "east", "down", "dance"]:
    print(f"> {command}")
    room = rooms[here]
    if command == "look":
        print(room["text"])
    elif command == "take":
        if item := room.pop("item", None):
            bag.append(item)
            print(f"You take the {item}.")
        else:
            print("Nothing to take.")
    elif command in room:
        target = rooms[room[command]]
        if target.get("needs") and target["needs"] not in bag:
            print(f"You need a {target['needs']}.")
        else:
            here = room[command]
            print(rooms[here]["text"])
    else:
        print("You can't do that.")
print(here, bag)
