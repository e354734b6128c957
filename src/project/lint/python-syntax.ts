/**
 * Syntax errors that a sequence of tokens proves (101), syntax that is newer than the runtime
 * (104), and text that the tree parser can read.
 */

import { type PythonToken, type PythonTokens, type SyntaxProblem, tokenizePython } from "./python-tokens.ts";

/** Syntax that an older Python cannot read. */
export interface NewerSyntax {
  readonly what: string;
  /** Minor version of Python 3 that brought it. */
  readonly since: number;
  readonly start: number;
  readonly end: number;
}

/** The syntax of a file, as far as its tokens tell. */
export interface PythonSyntax {
  readonly problem: SyntaxProblem | undefined;
  readonly newer: readonly NewerSyntax[];
  /**
   * The text in which constructs that the tree parser cannot read are replaced by others of the
   * same length and meaning.
   */
  readonly parseable: string;
}

const BLOCK_WORDS = new Set(["class", "def", "if", "elif", "else", "for", "while", "try", "except", "finally", "with"]);
const SOFT_KEYWORDS = new Set(["match", "case", "type"]);
const NEEDS_RIGHT = new Set("= == != < > <= >= += -= *= /= //= %= &= |= ^= >>= <<= := // % ^ & | << >>".split(" "));
const NO_OPERAND = new Set(") ] } , : = == != <= >= += -= *= /= //= %= &= |= ^= >>= <<= / // % ^ & | << >>".split(" "));
const ENDS_YIELD = new Set(") ] } , : = ;".split(" "));

/** The syntax of a file. Never throws. */
export function checkPythonSyntax(text: string): PythonSyntax {
  const read = tokenizePython(text);
  const problem = read.problem ?? findProblem(read.tokens);
  return { problem, newer: problem ? [] : findNewer(read), parseable: problem ? text : makeParseable(text, read.tokens) };
}

function isOperand(token: PythonToken): boolean {
  return token.kind === "name" || token.kind === "number" || token.kind === "string" || token.text === "...";
}

function endsOperand(token: PythonToken): boolean {
  return (isOperand(token) && token.text !== "...") || token.text === ")" || token.text === "]" || token.text === "}";
}

function findProblem(tokens: readonly PythonToken[]): SyntaxProblem | undefined {
  let lineStart = 0;
  let block: PythonToken | undefined;
  for (const [index, token] of tokens.entries()) {
    const previous = tokens[index - 1];
    if (token.kind === "indent" && !block) return { message: "unexpected indent", start: token.start, end: token.start + 1 };
    if (block && token.kind !== "indent" && token.kind !== "newline") {
      const name = block.text === "def" ? "function definition" : block.text === "class" ? "class definition" : `'${block.text}' statement`;
      const message = `expected an indented block after ${name}`;
      return { message, start: token.start, end: Math.max(token.end, token.start + 1) };
    }
    block = undefined;
    const found = previous && pairProblem(previous, token);
    if (found) return found;
    if (token.kind === "newline") {
      const line = tokens.slice(lineStart, index);
      const missing = colonProblem(line);
      if (missing) return missing;
      block = opensBlock(line);
    }
    if (token.kind === "newline" || token.kind === "indent" || token.kind === "dedent") lineStart = index + 1;
  }
  return undefined;
}

function pairProblem(previous: PythonToken, token: PythonToken): SyntaxProblem | undefined {
  const wrong = { message: "invalid syntax", start: token.start, end: Math.max(token.end, token.start + 1) };
  if (endsOperand(previous) && (isOperand(token) || token.text === "{")) {
    if (previous.kind === "string" && token.kind === "string") return undefined;
    if (previous.kind === "name" && SOFT_KEYWORDS.has(previous.text)) return undefined;
    return wrong;
  }
  if (previous.kind === "operator" && NEEDS_RIGHT.has(previous.text)) {
    if (token.kind === "newline") return { ...wrong, start: previous.start, end: previous.end };
    if (token.kind === "operator" && NO_OPERAND.has(token.text)) return wrong;
  }
  return undefined;
}

/** The block word of a logical line, `async` skipped. */
function blockWord(line: readonly PythonToken[]): PythonToken | undefined {
  const first = line[0]?.text === "async" ? line[1] : line[0];
  return first?.kind === "keyword" && BLOCK_WORDS.has(first.text) ? first : undefined;
}

function colonProblem(line: readonly PythonToken[]): SyntaxProblem | undefined {
  if (!blockWord(line)) return undefined;
  let depth = 0;
  for (const token of line) {
    if (token.text === "(" || token.text === "[" || token.text === "{") depth++;
    else if (token.text === ")" || token.text === "]" || token.text === "}") depth--;
    else if (token.text === ":" && depth === 0) return undefined;
  }
  const last = line.at(-1) as PythonToken;
  return { message: "expected ':'", start: last.end, end: last.end + 1 };
}

/** The statement whose block must begin on the next line. */
function opensBlock(line: readonly PythonToken[]): PythonToken | undefined {
  return line.at(-1)?.text === ":" ? (blockWord(line) ?? softBlock(line)) : undefined;
}

function softBlock(line: readonly PythonToken[]): PythonToken | undefined {
  return line[0] && SOFT_KEYWORDS.has(line[0].text) ? line[0] : undefined;
}

function findNewer({ tokens, reusedQuotes }: PythonTokens): NewerSyntax[] {
  const found: NewerSyntax[] = reusedQuotes.map((string) => ({
    what: "a formatted string that holds its own quotes",
    since: 12,
    ...string,
  }));
  const span = (from: PythonToken, to: PythonToken) => ({ start: from.start, end: to.end });
  for (const [index, token] of tokens.entries()) {
    const next = tokens[index + 1];
    const afterNext = tokens[index + 2];
    const previous = tokens[index - 1];
    const startsLine = !previous || previous.kind === "newline" || previous.kind === "indent" || previous.kind === "dedent";
    if (token.text === "except" && next?.text === "*") found.push({ what: "`except*`", since: 11, ...span(token, next) });
    const isAlias = startsLine && token.text === "type" && next?.kind === "name" && (afterNext?.text === "=" || afterNext?.text === "[");
    if (isAlias && afterNext?.text === "=") found.push({ what: "the `type` statement", since: 12, ...span(token, next) });
    const isGeneric = token.kind === "keyword" && (token.text === "def" || token.text === "class");
    if (!((isGeneric || isAlias) && next && afterNext?.text === "[")) continue;
    const default_ = defaultInBrackets(tokens, index + 2);
    if (default_) found.push({ what: "a default of a type parameter", since: 13, ...span(default_, default_) });
    else found.push({ what: "type parameters", since: 12, ...span(next, afterNext) });
  }
  return found;
}

function defaultInBrackets(tokens: readonly PythonToken[], from: number): PythonToken | undefined {
  let depth = 0;
  for (let index = from; index < tokens.length; index++) {
    const { text } = tokens[index] as PythonToken;
    if (text === "[" || text === "(" || text === "{") depth++;
    else if ((text === "]" || text === ")" || text === "}") && --depth === 0) return undefined;
    else if (text === "=" && depth === 1) return tokens[index];
  }
  return undefined;
}

/**
 * The text without a bare `yield` and floats that end in a dot, which the tree parser cannot read.
 */
function makeParseable(text: string, tokens: readonly PythonToken[]): string {
  const parts: string[] = [];
  let at = 0;
  const replace = (start: number, end: number, by: string): void => {
    parts.push(text.slice(at, start), by);
    at = end;
  };
  for (const [index, token] of tokens.entries()) {
    const next = tokens[index + 1];
    if (token.text === "yield" && token.kind === "keyword" && (!next || next.kind === "newline" || ENDS_YIELD.has(next.text)))
      replace(token.start, token.end, "Yield");
    else if (token.kind === "number" && /^[\d_]+\.(?![\d_])/.test(token.text))
      replace(token.start, token.end, token.text.replace(".", "0"));
  }
  return parts.length > 0 ? parts.join("") + text.slice(at) : text;
}
