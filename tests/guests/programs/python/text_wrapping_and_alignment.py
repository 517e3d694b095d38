import textwrap
lorem = ("Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore "
         "magna aliqua. Ut enim ad minim veniam, quis nostrud exercitation.")
print(textwrap.fill(lorem, width=40, initial_indent="* ", subsequent_indent="  "))
print(textwrap.shorten(lorem, 50, placeholder=" …"))
print(textwrap.dedent("""
    def f():
        return 1
""").strip())
rows = [("Name", "Qty", "Price"), ("Apple", 3, 1.5), ("Dragonfruit", 12, 10.25)]
for name, qty, price in rows:
    print(f"{name:<12}|{qty:>5}|{price:>8}")
