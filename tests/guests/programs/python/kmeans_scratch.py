"""k-means, k-nearest neighbours, naive Bayes and a perceptron from scratch in plain Python."""
import math
import random
from collections import Counter, defaultdict

rng = random.Random(4)
points = [(rng.gauss(cx, 0.6), rng.gauss(cy, 0.6), k) for k, (cx, cy) in enumerate([(0, 0), (4, 4), (0, 5)]) for _ in range(20)]


def kmeans(data, k, rounds=20):
    centres = data[:k]
    for _ in range(rounds):
        groups = defaultdict(list)
        for p in data:
            groups[min(range(k), key=lambda i: math.dist(p, centres[i]))].append(p)
        new = [tuple(sum(c) / len(c) for c in zip(*groups[i])) for i in range(k)]
        if new == centres:
            break
        centres = new
    return centres, groups


xy = [(p[0], p[1]) for p in points[::7] + points]
centres, groups = kmeans(xy, 3)
print(sorted((round(x, 2), round(y, 2)) for x, y in centres), sorted(map(len, groups.values())))


def knn(train, p, k=3):
    near = sorted(train, key=lambda t: math.dist(t[:2], p))[:k]
    return Counter(t[2] for t in near).most_common(1)[0][0]


print([knn(points, p) for p in [(0, 0), (4, 3), (1, 5), (2, 2)]])
mails = [("win money now", 1), ("cheap money offer", 1), ("meeting at noon", 0), ("lunch at noon today", 0), ("win a cheap offer", 1), ("project meeting today", 0)]


def bayes(mails):
    words, totals, labels = defaultdict(Counter), Counter(), Counter()
    for text, label in mails:
        labels[label] += 1
        for w in text.split():
            words[label][w] += 1
            totals[label] += 1
    vocabulary = {w for c in words.values() for w in c}

    def predict(text):
        scores = {l: math.log(labels[l] / len(mails)) + sum(math.log((words[l][w] + 1) / (totals[l] + len(vocabulary))) for w in text.split()) for l in labels}
        return max(scores, key=scores.get), {l: round(s, 3) for l, s in sorted(scores.items())}

    return predict


predict = bayes(mails)
print(predict("cheap money"), predict("noon meeting offer"))


def perceptron(samples, epochs=10, rate=0.1):
    w = [0.0, 0.0, 0.0]
    for epoch in range(epochs):
        errors = 0
        for a, b, want in samples:
            got = int(w[0] + w[1] * a + w[2] * b > 0)
            if got != want:
                errors += 1
                for i, v in enumerate((1, a, b)):
                    w[i] += rate * (want - got) * v
        if not errors:
            return epoch, [round(v, 2) for v in w]
    return None, w


print("AND", perceptron([(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 1)]))
print("XOR", perceptron([(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)])[0])
sigmoid = lambda z: 1 / (1 + math.exp(-z))
w, bias = 0.0, 0.0
for _ in range(200):
    for x, y in [(1, 0), (2, 0), (4, 1), (5, 1)]:
        g = sigmoid(w * x + bias) - y
        w, bias = w - 0.1 * g * x, bias - 0.1 * g
print(round(w, 4), round(bias, 4), [round(sigmoid(w * x + bias), 3) for x in (1, 3, 5)])
