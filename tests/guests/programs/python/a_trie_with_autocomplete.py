class Trie:
    def __init__(self):
        self.root = {}

    def insert(self, word):
        node = self.root
        for ch in word:
            node = node.setdefault(ch, {})
        node["$"] = True

    def complete(self, prefix):
        node = self.root
        for ch in prefix:
            if ch not in node:
                return []
            node = node[ch]
        found = []
        def walk(node, path):
            for ch in sorted(node):
                if ch == "$":
                    found.append(path)
                else:
                    walk(node[ch], path + ch)
        walk(node, prefix)
        return found

trie = Trie()
for w in "car card care careful cat dog dot door".split():
    trie.insert(w)
print(trie.complete("car"))
print(trie.complete("do"))
print(trie.complete("x"))
