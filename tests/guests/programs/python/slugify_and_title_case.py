import re, unicodedata

def slugify(text):
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    text = re.sub(r"[^\w\s-]", "", text).strip().lower()
    return re.sub(r"[-\s]+", "-", text)

for title in ["Héllo, Wörld!", "  Multiple   spaces -- here ", "Ünïcödé & Ampersands", "C++ vs. C#: 100% true?"]:
    print(slugify(title))
print("the lord of the rings".title(), "|", "they're bill's".title(), "|", "they're bill's".capitalize())
import string
print(string.capwords("they're bill's friends"))
