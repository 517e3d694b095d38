// JSX with a factory of its own: components, children, props, rendering to a string.
/** @jsx h */
type Props = Record<string, unknown> | null;
type VNode = { tag: string | Component; props: Record<string, any>; children: Child[] };
type Child = VNode | string | number | boolean | null | undefined | Child[];
type Component = (props: any) => VNode | string | null;
declare global { namespace JSX { interface IntrinsicElements { [name: string]: any } interface ElementChildrenAttribute { children: {} } } }

function h(tag: string | Component, props: Props, ...children: Child[]): VNode { return { tag, props: props ?? {}, children }; }
const Fragment: Component = ({ children }) => ({ tag: '', props: {}, children });
const escape = (s: string): string => s.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]!);
function render(node: Child): string {
  if (node === null || node === undefined || typeof node === 'boolean') return '';
  if (typeof node === 'string' || typeof node === 'number') return escape(String(node));
  if (Array.isArray(node)) return node.map(render).join('');
  if (typeof node.tag === 'function') return render(node.tag({ ...node.props, children: node.children }));
  const inner = node.children.map(render).join('');
  if (!node.tag) return inner;
  const attrs = Object.entries(node.props).filter(([, v]) => v !== false && v != null).map(([k, v]) => (v === true ? ` ${k}` : ` ${k === 'className' ? 'class' : k}="${escape(String(v))}"`)).join('');
  return ['br', 'img', 'input'].includes(node.tag) ? `<${node.tag}${attrs}/>` : `<${node.tag}${attrs}>${inner}</${node.tag}>`;
}
interface Item { id: number; text: string; done?: boolean }
const Badge = ({ n }: { n: number }) => (n > 0 ? <span className="badge">{n}</span> : null);
const Row = ({ item, children }: { item: Item; children?: Child[] }) => (
  <li id={`i${item.id}`} hidden={item.done}>
    {item.text} {children}
  </li>
);
const List = ({ items }: { items: Item[] }) => (
  <ul>
    {items.map((item) => (
      <Row item={item}>{item.done && <b>✓</b>}</Row>
    ))}
  </ul>
);
const page = (
  <div title='a "quoted" title' data-x={1 + 1}>
    <h1>
      Todo &amp; more <Badge n={2} />
    </h1>
    <Badge n={0} />
    <List items={[{ id: 1, text: 'one < two' }, { id: 2, text: 'second', done: true }]} />
    <input type="text" disabled {...{ value: 'v' }} />
  </div>
);
console.log(render(page));
console.log(JSON.stringify(<p key="k">{'a'}{1}{[<i />]}</p>));
