/** JSON Pointer, RFC 6901: the place of a value in a document. */

/** A text is no JSON Pointer. */
export class PointerInvalid extends Error {
  override readonly name = "PointerInvalid";
}

/**
 * The reference tokens of a pointer, unescaped; none for the whole document. Throws PointerInvalid.
 */
export function parsePointer(pointer: string): string[] {
  if (pointer === "") return [];
  if (!pointer.startsWith("/")) throw new PointerInvalid(`'${pointer}' is no JSON Pointer: it must be empty or begin with '/'`);
  if (/~(?![01])/.test(pointer)) throw new PointerInvalid(`'${pointer}' is no JSON Pointer: '~' is written '~0', and '/' in a name '~1'`);
  return pointer
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The pointer of reference tokens. */
export function formatPointer(tokens: readonly string[]): string {
  return tokens.map((token) => `/${token.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/**
 * The index that a token names in a list; undefined when it is none: digits without leading zeros.
 */
export function listIndex(token: string): number | undefined {
  return /^(?:0|[1-9]\d{0,9})$/.test(token) ? Number(token) : undefined;
}
