import string

def caesar(text, shift):
    table = str.maketrans(
        string.ascii_lowercase + string.ascii_uppercase,
        string.ascii_lowercase[shift % 26:] + string.ascii_lowercase[:shift % 26]
        + string.ascii_uppercase[shift % 26:] + string.ascii_uppercase[:shift % 26])
    return text.translate(table)

def vigenere(text, key, sign=1):
    out, i = [], 0
    for ch in text:
        if ch.isalpha():
            base = ord("A") if ch.isupper() else ord("a")
            k = ord(key[i % len(key)].lower()) - ord("a")
            out.append(chr((ord(ch) - base + sign * k) % 26 + base))
            i += 1
        else:
            out.append(ch)
    return "".join(out)

message = "Attack at Dawn!"
print(caesar(message, 3))
print(caesar(caesar(message, 3), -3))
secret = vigenere(message, "Lemon")
print(secret, "|", vigenere(secret, "Lemon", -1))
