"""Which lines differ, as git finds it: the shortest script (Myers), slid to where its indentation reads best.

Rules: of two inputs that git compares, the same lines are found, as long as they are not more than some hundred edits apart,
where git guesses in its own way. No recursion: what is compared is not ours.
"""

MAX_EQUAL = 1024
WINDOW = 100
COST_MIN = 256
FAR = 1 << 60


def split(data):
    """Lines with their ends."""
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def compare(old, new):
    """The changes that make `new` of `old`: (place in old, place in new, lines removed, lines added)."""
    classes = {}
    a = [classes.setdefault(line, len(classes)) for line in old]
    b = [classes.setdefault(line, len(classes)) for line in new]
    changed_a, changed_b = bytearray(len(a) + 1), bytearray(len(b) + 1)
    find_changed(a, b, changed_a, changed_b, len(classes))
    compact(a, old, changed_a, changed_b)
    compact(b, new, changed_b, changed_a)
    script, i, j = [], 0, 0
    while i < len(a) or j < len(b):
        if changed_a[i] or changed_b[j]:
            from_i, from_j = i, j
            while changed_a[i]:
                i += 1
            while changed_b[j]:
                j += 1
            script.append((from_i, from_j, i - from_i, j - from_j))
        else:
            i += 1
            j += 1
    return script


def root(number):
    found = 1
    while number > 0:
        found, number = found << 1, number >> 2
    return found


def find_changed(a, b, changed_a, changed_b, classes):
    start, end = 0, 0
    least = min(len(a), len(b))
    while start < least and a[start] == b[start]:
        start += 1
    while end < least - start and a[-1 - end] == b[-1 - end]:
        end += 1
    count_a, count_b = [0] * classes, [0] * classes
    for one in a:
        count_a[one] += 1
    for one in b:
        count_b[one] += 1
    kept_a = discard(a, start, len(a) - end, count_b, changed_a)
    kept_b = discard(b, start, len(b) - end, count_a, changed_b)
    search([a[i] for i in kept_a], [b[i] for i in kept_b], kept_a, kept_b, changed_a, changed_b)


def discard(records, start, end, counts, changed):
    """The places worth comparing. Lines that the other side has not, and runs of ones that it has everywhere, are changed."""
    limit = min(root(len(records)), MAX_EQUAL)
    kinds = [0 if not counts[records[i]] else 2 if counts[records[i]] >= limit else 1 for i in range(start, end)]
    kept = []
    for i, kind in enumerate(kinds):
        if kind == 1 or (kind == 2 and not is_noise(kinds, i)):
            kept.append(start + i)
        else:
            changed[start + i] = 1
    return kept


def is_noise(kinds, i):
    first = scan(kinds, range(i - 1, max(-1, i - WINDOW - 1), -1))
    if not first[0]:
        return False
    second = scan(kinds, range(i + 1, min(len(kinds), i + WINDOW + 1)))
    if not second[0]:
        return False
    common = first[1] + second[1] + 2
    return common * 4 < common + first[0] + second[0]


def scan(kinds, places):
    none = many = 0
    for i in places:
        if kinds[i] == 1:
            break
        if kinds[i]:
            many += 1
        else:
            none += 1
    return none, many


def search(a, b, places_a, places_b, changed_a, changed_b):
    most = max(COST_MIN, root(len(a) + len(b) + 3))
    todo = [(0, len(a), 0, len(b))]
    while todo:
        from_a, to_a, from_b, to_b = todo.pop()
        while from_a < to_a and from_b < to_b and a[from_a] == b[from_b]:
            from_a += 1
            from_b += 1
        while from_a < to_a and from_b < to_b and a[to_a - 1] == b[to_b - 1]:
            to_a -= 1
            to_b -= 1
        if from_a == to_a:
            for j in range(from_b, to_b):
                changed_b[places_b[j]] = 1
        elif from_b == to_b:
            for i in range(from_a, to_a):
                changed_a[places_a[i]] = 1
        else:
            i, j = middle(a, b, from_a, to_a, from_b, to_b, most)
            todo += [(i, to_a, j, to_b), (from_a, i, from_b, j)]


def middle(a, b, from_a, to_a, from_b, to_b, most):
    """A place that the shortest way through goes through: searched from both ends at once."""
    low, high, ahead, back = from_a - to_b, to_a - from_b, from_a - from_b, to_a - to_b
    is_odd = (ahead - back) & 1
    forth, hind = {ahead: from_a}, {back: to_a}
    f_low = f_high = ahead
    b_low = b_high = back
    cost = 0
    while True:
        cost += 1
        if f_low > low:
            f_low -= 1
            forth[f_low - 1] = -1
        else:
            f_low += 1
        if f_high < high:
            f_high += 1
            forth[f_high + 1] = -1
        else:
            f_high -= 1
        for d in range(f_high, f_low - 1, -2):
            left, right = forth[d - 1], forth[d + 1]
            i = left + 1 if left >= right else right
            j = i - d
            while i < to_a and j < to_b and a[i] == b[j]:
                i += 1
                j += 1
            forth[d] = i
            if is_odd and b_low <= d <= b_high and hind[d] <= i:
                return i, j
        if b_low > low:
            b_low -= 1
            hind[b_low - 1] = FAR
        else:
            b_low += 1
        if b_high < high:
            b_high += 1
            hind[b_high + 1] = FAR
        else:
            b_high -= 1
        for d in range(b_high, b_low - 1, -2):
            left, right = hind[d - 1], hind[d + 1]
            i = left if left < right else right - 1
            j = i - d
            while i > from_a and j > from_b and a[i - 1] == b[j - 1]:
                i -= 1
                j -= 1
            hind[d] = i
            if not is_odd and f_low <= d <= f_high and i <= forth[d]:
                return i, j
        if cost >= most:
            return furthest(forth, hind, (f_low, f_high), (b_low, b_high), (from_a, to_a, from_b, to_b))


def furthest(forth, hind, f_range, b_range, box):
    """Where the better of the two searches has come, when it costs too much to go on."""
    from_a, to_a, from_b, to_b = box
    best, best_i = -1, 0
    for d in range(f_range[1], f_range[0] - 1, -2):
        i = min(forth[d], to_a)
        i = min(i, to_b + d)
        if best < 2 * i - d:
            best, best_i = 2 * i - d, i
    least, least_i = FAR, 0
    for d in range(b_range[1], b_range[0] - 1, -2):
        i = max(hind[d], from_a)
        i = max(i, from_b + d)
        if 2 * i - d < least:
            least, least_i = 2 * i - d, i
    if to_a + to_b - least < best - (from_a + from_b):
        return best_i, best - best_i
    return least_i, least - least_i


class Group:
    """A run of changed lines, maybe empty, in front of a line that is not."""

    def __init__(self, records, changed):
        self.records, self.changed, self.size = records, changed, len(changed) - 1
        self.start = self.end = 0
        while changed[self.end]:
            self.end += 1

    def next(self):
        if self.end == self.size:
            return False
        self.start = self.end = self.end + 1
        while self.changed[self.end]:
            self.end += 1
        return True

    def previous(self):
        if self.start == 0:
            return False
        self.end = self.start = self.start - 1
        while self.start and self.changed[self.start - 1]:
            self.start -= 1
        return True

    def slide_down(self):
        if self.end >= self.size or self.records[self.start] != self.records[self.end]:
            return False
        self.changed[self.start], self.changed[self.end] = 0, 1
        self.start += 1
        self.end += 1
        while self.changed[self.end]:
            self.end += 1
        return True

    def slide_up(self):
        if self.start == 0 or self.records[self.start - 1] != self.records[self.end - 1]:
            return False
        self.start -= 1
        self.end -= 1
        self.changed[self.start], self.changed[self.end] = 1, 0
        while self.start and self.changed[self.start - 1]:
            self.start -= 1
        return True


def compact(records, lines, changed, other_changed):
    """Slides each run of changes to where the other side has one too, or to where it reads best."""
    group, other = Group(records, changed), Group((), other_changed)
    while True:
        if group.end != group.start:
            settle(group, other, lines)
        if not group.next():
            return
        other.next()


def settle(group, other, lines):
    while True:
        size, matching = group.end - group.start, -1
        while group.slide_up():
            other.previous()
        earliest = group.end
        if other.end > other.start:
            matching = group.end
        while group.slide_down():
            other.next()
            if other.end > other.start:
                matching = group.end
        if size == group.end - group.start:
            break
    if group.end == earliest:
        return
    if matching != -1:
        while other.end == other.start:
            group.slide_up()
            other.previous()
        return
    best, best_score = -1, None
    for end in range(max(earliest, group.end - size - 1, group.end - WINDOW), group.end + 1):
        one, two = rate(lines, end), rate(lines, end - size)
        score = (one[0] + two[0], one[1] + two[1])
        if best == -1 or worse(score, best_score) <= 0:
            best, best_score = end, score
    while group.end > best:
        group.slide_up()
        other.previous()


def worse(one, two):
    return 60 * ((one[0] > two[0]) - (one[0] < two[0])) + one[1] - two[1]


def indent(line):
    found = 0
    for byte in line:
        if byte == 32:
            found += 1
        elif byte == 9:
            found += 8 - found % 8
        elif byte not in b"\n\r\v\f":
            return found
        if found >= 200:
            return 200
    return -1


def look(lines, places):
    blank = 0
    for i in places:
        found = indent(lines[i])
        if found != -1:
            return blank, found
        blank += 1
        if blank == 20:
            return blank, 0
    return blank, -1


def rate(lines, place):
    """How bad it is to begin or end a change here: the indentation, and a penalty."""
    own = indent(lines[place]) if place < len(lines) else -1
    blank_before, before = look(lines, range(place - 1, -1, -1))
    blank_after, after = look(lines, range(place + 1, len(lines)))
    penalty = (1 if before == -1 and not blank_before else 0) + (21 if place >= len(lines) else 0)
    behind = 1 + blank_after if own == -1 else 0
    blanks = blank_before + behind
    penalty += -30 * blanks + 6 * behind
    level = own if own != -1 else after
    if level == -1 or before == -1 or level == before:
        return level, penalty
    if level > before:
        return level, penalty + (10 if blanks else -4)
    if after != -1 and after > level:
        return level, penalty + (17 if blanks else 24)
    return level, penalty + (17 if blanks else 23)
