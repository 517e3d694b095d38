enum Direction {
  Up = "UP",
  Down = "DOWN",
  Left = "LEFT",
  Right = "RIGHT",
}

enum HttpStatus {
  OK = 200,
  Created,
  BadRequest = 400,
  NotFound = 404,
}

function move(d: Direction): [number, number] {
  switch (d) {
    case Direction.Up: return [0, -1];
    case Direction.Down: return [0, 1];
    case Direction.Left: return [-1, 0];
    case Direction.Right: return [1, 0];
  }
}

let pos: [number, number] = [0, 0];
for (const d of [Direction.Up, Direction.Right, Direction.Right, Direction.Down]) {
  const [dx, dy] = move(d);
  pos = [pos[0] + dx, pos[1] + dy];
  console.log(d, pos);
}
console.log(HttpStatus.Created, HttpStatus[404], Object.keys(HttpStatus).length);
console.log(Object.values(Direction));
