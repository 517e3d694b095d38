class TreeNode<T> {
  left?: TreeNode<T>;
  right?: TreeNode<T>;
  constructor(public value: T) {}
}

class BST<T> implements Iterable<T> {
  private root?: TreeNode<T>;
  constructor(private compare: (a: T, b: T) => number = (a, b) => (a < b ? -1 : a > b ? 1 : 0)) {}
  insert(value: T): this {
    const node = new TreeNode(value);
    if (!this.root) { this.root = node; return this; }
    let cur = this.root;
    for (;;) {
      const side = this.compare(value, cur.value) < 0 ? "left" : "right";
      if (!cur[side]) { cur[side] = node; return this; }
      cur = cur[side]!;
    }
  }
  *[Symbol.iterator](): Iterator<T> {
    function* walk(n?: TreeNode<T>): Generator<T> {
      if (!n) return;
      yield* walk(n.left);
      yield n.value;
      yield* walk(n.right);
    }
    yield* walk(this.root);
  }
  height(n: TreeNode<T> | undefined = this.root): number {
    return n ? 1 + Math.max(n.left ? this.height(n.left) : 0, n.right ? this.height(n.right) : 0) : 0;
  }
}

const tree = new BST<number>();
[50, 30, 70, 20, 40, 60, 80].forEach((n) => tree.insert(n));
console.log([...tree], tree.height());
const words = new BST<string>((a, b) => a.length - b.length);
"the quick brown fox jumped".split(" ").forEach((w) => words.insert(w));
console.log(Array.from(words));
