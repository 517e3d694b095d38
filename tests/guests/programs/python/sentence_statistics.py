import re, statistics
text = open("sample.txt", "w+", encoding="utf-8")
text.write("Hello there. How are you today? I am fine! This is a slightly longer sentence, with commas. Ok.\n")
text.seek(0)
content = text.read()
text.close()
sentences = [s.strip() for s in re.split(r"(?<=[.!?])\s+", content) if s.strip()]
lengths = [len(s.split()) for s in sentences]
print(len(sentences), lengths)
print(f"mean {statistics.mean(lengths):.2f}, median {statistics.median(lengths)}, stdev {statistics.stdev(lengths):.3f}")
print(max(sentences, key=len))
vowels = sum(content.lower().count(v) for v in "aeiou")
print("vowels", vowels, "upper", sum(c.isupper() for c in content))
