class Tree:
    def __init__(self, key, left=None, right=None): self.key, self.left, self.right = key, left, right

def insert(t, key):
    if t is None: return Tree(key)
    if key < t.key: t.left = insert(t.left, key)
    elif key > t.key: t.right = insert(t.right, key)
    return t

def inorder(t): return inorder(t.left) + [t.key] + inorder(t.right) if t else []
def height(t): return 1 + max(height(t.left), height(t.right)) if t else 0
def build(keys):
    if not keys: return None
    m = len(keys) // 2
    return Tree(keys[m], build(keys[:m]), build(keys[m + 1:]))
def show(t, depth=0):
    if t:
        show(t.right, depth + 1)
        print("    " * depth + str(t.key))
        show(t.left, depth + 1)

root = None
for k in [50, 30, 70, 20, 40, 60, 80, 10, 5, 1]: root = insert(root, k)
print(inorder(root), height(root))
balanced = build(inorder(root))
print(height(balanced))
show(balanced)
