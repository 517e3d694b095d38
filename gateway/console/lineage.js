// How sessions and snapshots descend from each other, and where each is drawn. Knows nothing of pages.
//
//   session ─▶ its first snapshot ─▶ its next …      snapshot ─▶ a session restored from it      session ─▶ a fork of it

export const WIDTH = 184;
export const HEIGHT = 46;
const GAP_X = 30;
const GAP_Y = 16;

// `parents` says which session a fork came from, by its id.
export function trace(sessions, snapshots, parents) {
  const nodes = new Map();
  for (const one of sessions) nodes.set(`s:${one.id}`, { key: `s:${one.id}`, kind: "session", id: one.id, record: one, at: one.created_at });
  for (const one of snapshots) nodes.set(`n:${one.id}`, { key: `n:${one.id}`, kind: "snapshot", id: one.id, record: one, at: one.created_at });
  const labels = new Map(snapshots.filter((one) => one.kind === "template").map((one) => [one.label, one.id]));
  const ghost = (id) => {
    const key = `s:${id}`;
    if (!nodes.has(key)) nodes.set(key, { key, kind: "gone", id, record: null, at: 0 });
    return key;
  };
  for (const node of [...nodes.values()]) node.parent = parentOf(node, nodes, parents, labels, ghost);
  return nodes;
}

function parentOf(node, nodes, parents, labels, ghost) {
  const { record } = node;
  if (node.kind === "snapshot") return nodes.has(`n:${record.parent}`) ? `n:${record.parent}` : ghost(record.session_id);
  if (record.template) {
    const origin = [record.template, labels.get(record.template)].map((id) => `n:${id}`).find((key) => nodes.has(key));
    if (origin) return origin;
  }
  const from = record.parent ?? parents.get(record.id);
  return from && from !== record.id ? ghost(from) : null;
}

// Gives every node a place: a column for each generation, and a row of its own for each leaf. Not recursive: trees may be deep.
export function arrange(nodes) {
  const children = new Map([...nodes.keys()].map((key) => [key, []]));
  const roots = [];
  for (const node of [...nodes.values()].sort((one, other) => one.at - other.at)) {
    (node.parent ? children.get(node.parent) : roots).push(node);
  }
  for (const node of unreached(nodes, children, roots)) { node.parent = null; roots.push(node); }
  let row = 0;
  let columns = 0;
  const order = [];
  const stack = roots.toReversed().map((node) => [node, 0]);
  while (stack.length) {
    const [node, column] = stack.pop();
    node.column = column;
    columns = Math.max(columns, column + 1);
    order.push(node);
    const below = children.get(node.key);
    if (below.length === 0) node.row = row++;
    for (const child of below.toReversed()) stack.push([child, column + 1]);
  }
  for (const node of order.toReversed()) {
    const below = children.get(node.key);
    if (below.length) node.row = below[0].row;
    node.x = node.column * (WIDTH + GAP_X) + 8;
    node.y = node.row * (HEIGHT + GAP_Y) + 8;
  }
  return { order, width: columns * (WIDTH + GAP_X) - GAP_X + 16, height: row * (HEIGHT + GAP_Y) - GAP_Y + 16 };
}

// A circle (two snapshots that name each other) has no root; it is cut open at its oldest.
function unreached(nodes, children, roots) {
  const seen = new Set();
  const stack = [...roots];
  const cut = [];
  const visit = () => {
    while (stack.length) {
      const node = stack.pop();
      if (seen.has(node.key)) continue;
      seen.add(node.key);
      stack.push(...children.get(node.key));
    }
  };
  visit();
  for (const node of nodes.values()) {
    if (seen.has(node.key)) continue;
    const above = children.get(node.parent);
    above.splice(above.indexOf(node), 1);
    cut.push(node);
    stack.push(node);
    visit();
  }
  return cut;
}
