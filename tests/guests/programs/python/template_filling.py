from string import Template
t = Template("Dear $name,\nyour order #${order} of $$${amount} ships on $day.")
print(t.substitute(name="Ana", order=42, amount="19.99", day="Monday"))
try:
    t.substitute(name="x")
except KeyError as e:
    print("missing", e)
print(t.safe_substitute(name="Bo"))
print("{0} {1!r:>8} {2:+.2e} {3:^10} {name:*<6}".format("a", "b", 12345.678, "mid", name="end"))
x = 1234567.891
print(f"{x:,.2f} {x:e} {x:010.1f} {255:#06x} {0.256:.1%} {'é':>3}|{True:d}")
print("%-10s|%5d|%05.1f|%x|%%" % ("left", 42, 3.14159, 255))
