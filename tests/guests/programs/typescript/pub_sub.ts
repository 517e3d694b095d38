// A typed publish/subscribe bus with wildcard topics, once, and unsubscribe tokens.
type Handler<T> = (payload: T, topic: string) => void;
interface Topics { 'user.created': { id: number; name: string }; 'user.deleted': { id: number }; 'order.paid': { total: number } }
type TopicName = keyof Topics;
type Wildcard = 'user.*' | 'order.*' | '*';
class Bus {
  private readonly subs = new Map<string, Set<Handler<any>>>();
  on<K extends TopicName>(topic: K, h: Handler<Topics[K]>): () => void;
  on(topic: Wildcard, h: Handler<Topics[TopicName]>): () => void;
  on(topic: string, h: Handler<any>): () => void {
    const set = this.subs.get(topic) ?? new Set();
    this.subs.set(topic, set.add(h));
    return () => void set.delete(h);
  }
  once<K extends TopicName>(topic: K, h: Handler<Topics[K]>): void { const off = this.on(topic, (p, t) => { off(); h(p, t); }); }
  emit<K extends TopicName>(topic: K, payload: Topics[K]): number {
    const [family] = topic.split('.') as [string];
    let n = 0;
    for (const key of [topic, `${family}.*`, '*']) for (const h of [...(this.subs.get(key) ?? [])]) { h(payload, topic); n++; }
    return n;
  }
}
const bus = new Bus();
const log: string[] = [];
const off = bus.on('user.created', ({ id, name }) => log.push(`created ${id} ${name}`));
bus.on('user.*', (_, t) => log.push(`user event ${t}`));
bus.on('*', (p) => log.push(`any ${JSON.stringify(p)}`));
bus.once('order.paid', ({ total }) => log.push(`paid ${total.toFixed(2)}`));
console.log(bus.emit('user.created', { id: 1, name: 'Ann' }), bus.emit('order.paid', { total: 9.5 }), bus.emit('order.paid', { total: 1 }));
off();
console.log(bus.emit('user.created', { id: 2, name: 'Bob' }), bus.emit('user.deleted', { id: 1 }));
console.log(log.join('\n'));
