const enum TokenType { Number, Operator, Paren }

interface Token { type: TokenType; text: string }

function tokenize(source: string): Token[] {
  const tokens: Token[] = [];
  for (const [text] of source.matchAll(/\d+(?:\.\d+)?|[-+*/()]/g)) {
    const type = /^\d/.test(text) ? TokenType.Number : "()".includes(text) ? TokenType.Paren : TokenType.Operator;
    tokens.push({ type, text });
  }
  return tokens;
}

class Parser {
  private at = 0;
  constructor(private readonly tokens: Token[]) {}
  private peek(): Token | undefined { return this.tokens[this.at]; }
  parse(): number {
    let value = this.term();
    while (this.peek()?.text === "+" || this.peek()?.text === "-") {
      const op = this.tokens[this.at++].text;
      const right = this.term();
      value = op === "+" ? value + right : value - right;
    }
    return value;
  }
  private term(): number {
    let value = this.factor();
    while (this.peek()?.text === "*" || this.peek()?.text === "/") {
      const op = this.tokens[this.at++].text;
      value = op === "*" ? value * this.factor() : value / this.factor();
    }
    return value;
  }
  private factor(): number {
    const token = this.tokens[this.at++];
    if (!token) throw new SyntaxError("unexpected end");
    if (token.text === "(") {
      const value = this.parse();
      this.at++;
      return value;
    }
    if (token.text === "-") return -this.factor();
    return parseFloat(token.text);
  }
}

for (const s of ["1 + 2 * 3", "(1 + 2) * 3", "-4 / (2 - 4)", "2 * (3 + (4 - 1))"]) {
  console.log(`${s} = ${new Parser(tokenize(s)).parse()}`);
}
try {
  new Parser(tokenize("1 +")).parse();
} catch (e) {
  console.log(`${(e as Error).name}: ${(e as Error).message}`);
}
