import sys
sys.setrecursionlimit(5000)

def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)

print(depth(900))

class Node:
    def __init__(self, value, next=None):
        self.value, self.next = value, next

head = None
for i in range(900):
    head = Node(i, head)

def total(node):
    return 0 if node is None else node.value + total(node.next)

print(total(head))
