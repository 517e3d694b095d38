import re
from collections import Counter

text = """It was the best of times, it was the worst of times, it was the age of wisdom,
it was the age of foolishness, it was the epoch of belief, it was the epoch of incredulity,
it was the season of Light, it was the season of Darkness."""

words = re.findall(r"[a-z']+", text.lower())
counts = Counter(words)
print(f"Total words: {len(words)}, unique: {len(counts)}")
for word, count in counts.most_common(8):
    print(f"{word:<8} {'█' * count} {count}")
