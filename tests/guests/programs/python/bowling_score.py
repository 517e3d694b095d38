"""Ten-pin bowling and tennis scoring with unit tests run in the program."""
import sys
import unittest


def bowling(rolls):
    frames, i, total = [], 0, 0
    for frame in range(10):
        if rolls[i] == 10:
            total += 10 + rolls[i + 1] + rolls[i + 2]
            i += 1
        elif rolls[i] + rolls[i + 1] == 10:
            total += 10 + rolls[i + 2]
            i += 2
        else:
            total += rolls[i] + rolls[i + 1]
            i += 2
        frames.append(total)
    return frames


def tennis(points):
    names = ["love", "fifteen", "thirty", "forty"]
    a, b = points.count("A"), points.count("B")
    if max(a, b) >= 4 and abs(a - b) >= 2:
        return f"game {'A' if a > b else 'B'}"
    if a >= 3 and b >= 3:
        return "deuce" if a == b else f"advantage {'A' if a > b else 'B'}"
    return f"{names[a]}-{names[b] if a != b else 'all'}"


class ScoreTest(unittest.TestCase):
    def test_perfect(self):
        self.assertEqual(bowling([10] * 12)[-1], 300)

    def test_spares(self):
        self.assertEqual(bowling([5] * 21)[-1], 150)

    def test_tennis(self):
        for points, want in [("", "love-all"), ("AAB", "thirty-fifteen"), ("AAABBB", "deuce"), ("AAABBBA", "advantage A"), ("BBBB", "game B")]:
            with self.subTest(points):
                self.assertEqual(tennis(points), want)

    def test_short(self):
        with self.assertRaises(IndexError):
            bowling([1])

    @unittest.skip("not yet")
    def test_later(self):
        self.fail()


print(bowling([10, 7, 3, 9, 0, 10, 0, 8, 8, 2, 0, 6, 10, 10, 10, 8, 1]))
suite = unittest.defaultTestLoader.loadTestsFromTestCase(ScoreTest)
result = unittest.TextTestRunner(stream=open("log.txt", "w"), verbosity=2).run(suite)
print(result.testsRun, len(result.failures), len(result.errors), len(result.skipped), result.wasSuccessful())
print(sorted(line.split(" ")[0] for line in open("log.txt") if line.startswith("test_")))
sys.exit(not result.wasSuccessful())
