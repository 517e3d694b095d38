namespace Geometry {
  export interface Point { x: number; y: number }
  export const origin: Point = { x: 0, y: 0 };
  export function distance(a: Point, b: Point = origin): number {
    return Math.hypot(a.x - b.x, a.y - b.y);
  }
  export namespace Units {
    export const cm = (m: number) => m * 100;
  }
}

console.log(Geometry.distance({ x: 3, y: 4 }));
console.log(Geometry.Units.cm(Geometry.distance({ x: 1, y: 1 }, { x: 1, y: 3 })));
