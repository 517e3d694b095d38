class Node:
    __slots__ = ("value", "next")
    def __init__(self, value, next=None): self.value, self.next = value, next

class LinkedList:
    def __init__(self, items=()):
        self.head = None
        for item in reversed(list(items)): self.head = Node(item, self.head)
    def __iter__(self):
        node = self.head
        while node:
            yield node.value
            node = node.next
    def __len__(self): return sum(1 for _ in self)
    def __contains__(self, x): return any(v == x for v in self)
    def reverse(self):
        prev, node = None, self.head
        while node:
            node.next, prev, node = prev, node, node.next
        self.head = prev
        return self
    def remove(self, x):
        dummy = Node(None, self.head)
        node = dummy
        while node.next:
            if node.next.value == x:
                node.next = node.next.next
                break
            node = node.next
        self.head = dummy.next
    def __repr__(self): return " -> ".join(map(str, self)) or "empty"

l = LinkedList([1, 2, 3, 4])
print(l, len(l), 3 in l, 9 in l)
print(l.reverse())
l.remove(3); l.remove(100)
print(l, LinkedList())
