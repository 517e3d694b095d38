MORSE = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", """.- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. ---
.--. --.- .-. ... - ..- ...- .-- -..- -.-- --.. ----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----.""".split()))
BACK = {v: k for k, v in MORSE.items()}
encode = lambda s: " / ".join(" ".join(MORSE[c] for c in w) for w in s.upper().split())
decode = lambda s: " ".join("".join(BACK[c] for c in w.split()) for w in s.split(" / "))
m = encode("SOS send help 911")
print(m)
print(decode(m))
