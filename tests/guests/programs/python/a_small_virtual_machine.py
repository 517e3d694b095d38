PROGRAM = """
    push 0
    store sum
    push 1
    store i
loop:
    load i
    push 10
    gt
    jnz end
    load sum
    load i
    add
    store sum
    load i
    push 1
    add
    store i
    jmp loop
end:
    load sum
    print
    halt
"""
code, labels = [], {}
for line in PROGRAM.split("\n"):
    line = line.strip()
    if line.endswith(":"): labels[line[:-1]] = len(code)
    elif line: code.append(line.split())
stack, memory, pc, steps = [], {}, 0, 0
while True:
    op, *args = code[pc]
    pc += 1; steps += 1
    match op:
        case "push": stack.append(int(args[0]))
        case "load": stack.append(memory[args[0]])
        case "store": memory[args[0]] = stack.pop()
        case "add": stack.append(stack.pop() + stack.pop())
        case "gt": b, a = stack.pop(), stack.pop(); stack.append(int(a > b))
        case "jmp": pc = labels[args[0]]
        case "jnz": pc = labels[args[0]] if stack.pop() else pc
        case "print": print("output:", stack.pop())
        case "halt": break
print("steps", steps, memory)
