// Namespaces, nested namespaces, merging, module augmentation style, and static helpers.
namespace Geometry {
  export const EPSILON = 1e-9;
  export interface Vec { x: number; y: number }
  export class Point implements Vec {
    constructor(public x: number, public y: number) {}
    plus(o: Vec): Point { return new Point(this.x + o.x, this.y + o.y); }
    toString(): string { return `(${this.x}, ${this.y})`; }
  }
  function cross(a: Vec, b: Vec, c: Vec) { return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x); }
  export namespace Polygons {
    export function area(points: Vec[]): number {
      return Math.abs(points.reduce((s, p, i) => { const q = points[(i + 1) % points.length]; return s + p.x * q.y - q.x * p.y; }, 0)) / 2;
    }
    export function hull(points: Vec[]): Vec[] {
      const sorted = [...points].sort((a, b) => a.x - b.x || a.y - b.y);
      const half = (list: Vec[]) => {
        const out: Vec[] = [];
        for (const p of list) { while (out.length > 1 && cross(out[out.length - 2], out[out.length - 1], p) <= EPSILON) out.pop(); out.push(p); }
        return out.slice(0, -1);
      };
      return [...half(sorted), ...half(sorted.reverse())];
    }
  }
}
namespace Geometry {
  export function distance(a: Vec, b: Vec) { return Math.hypot(a.x - b.x, a.y - b.y); }
}
import P = Geometry.Point;
class Album { label = new Album.Label('x'); }
namespace Album { export class Label { constructor(public text: string) {} } }
function counter() { return ++counter.count; }
namespace counter { export let count = 0; }

const pts = [new P(0, 0), new P(4, 0), new P(4, 3), new P(0, 3), new P(2, 1), new P(1, 2)];
const hull = Geometry.Polygons.hull(pts);
console.log(hull.map(String).join(' '), Geometry.Polygons.area(hull));
console.log(`${pts[1].plus({ x: 1, y: 1 })}`, Geometry.distance(pts[0], pts[2]));
counter(); counter();
console.log(counter.count, new Album().label.text);
