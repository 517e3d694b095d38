def run(code, data=""):
    jumps, stack = {}, []
    for i, c in enumerate(code):
        if c == "[": stack.append(i)
        elif c == "]":
            j = stack.pop()
            jumps[i], jumps[j] = j, i
    tape, ptr, pc, out, inp = [0] * 300, 0, 0, [], iter(data)
    while pc < len(code):
        c = code[pc]
        if c == ">": ptr += 1
        elif c == "<": ptr -= 1
        elif c == "+": tape[ptr] = (tape[ptr] + 1) % 256
        elif c == "-": tape[ptr] = (tape[ptr] - 1) % 256
        elif c == ".": out.append(chr(tape[ptr]))
        elif c == ",": tape[ptr] = ord(next(inp, "\0"))
        elif c == "[" and not tape[ptr]: pc = jumps[pc]
        elif c == "]" and tape[ptr]: pc = jumps[pc]
        pc += 1
    return "".join(out)

print(run("++++++++[>++++[>++>+++>+++>+<<<<-]>+>+>->>+[<]<-]>>.>---.+++++++..+++.>>.<-.<.+++.------.--------.>>+."))
print(run(",[.,]", "echo!"))
