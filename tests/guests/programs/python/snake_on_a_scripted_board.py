W, H = 8, 5
snake, food, direction = [(3, 2), (2, 2), (1, 2)], (6, 2), (1, 0)
turns = {3: (0, 1), 5: (-1, 0), 8: (0, -1)}
score = 0
for tick in range(12):
    direction = turns.get(tick, direction)
    head = ((snake[0][0] + direction[0]) % W, (snake[0][1] + direction[1]) % H)
    if head in snake:
        print("game over at tick", tick)
        break
    snake.insert(0, head)
    if head == food:
        score += 1
        food = ((food[0] * 3 + 1) % W, (food[1] * 2 + 1) % H)
    else:
        snake.pop()
rows = [["." for _ in range(W)] for _ in range(H)]
for i, (x, y) in enumerate(snake):
    rows[y][x] = "O" if i == 0 else "o"
rows[food[1]][food[0]] = "*"
print("\n".join("".join(r) for r in rows))
print("score", score)
