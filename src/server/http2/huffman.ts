/**
 * The Huffman code of HPACK (RFC 7541, appendix B). It is canonical, so the lengths of its codes
 * say all of it.
 */

/**
 * Length of each symbol's code in base 36, in the order of bytes; the last is the end of a string.
 */
const LENGTHS =
  "dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6cad67777777777777777777777878djde6f56565666577666567655677777fbeds" +
  "kmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmnqqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrqu";

const END = 256;

/**
 * The tree of codes: a node's two entries are nodes below, or symbols as negative numbers less one.
 */
const TREE = tree([...LENGTHS].map((length) => Number.parseInt(length, 36)));

function tree(lengths: readonly number[]): Int16Array {
  const nodes = new Int16Array(2 * lengths.length);
  let used = 1;
  let code = 0;
  let length = 0;
  const order = lengths.map((_, symbol) => symbol).sort((a, b) => (lengths[a] ?? 0) - (lengths[b] ?? 0) || a - b);
  for (const symbol of order) {
    const wanted = lengths[symbol] ?? 0;
    code <<= wanted - length;
    length = wanted;
    let node = 0;
    for (let bit = length - 1; bit > 0; bit--) {
      const at = 2 * node + ((code >>> bit) & 1);
      if (nodes[at] === 0) nodes[at] = used++;
      node = nodes[at] ?? 0;
    }
    nodes[2 * node + (code & 1)] = -symbol - 1;
    code++;
  }
  return nodes;
}

/**
 * The text that bytes from `from` to `to` encode, a character for each byte of it; undefined when
 * they are no whole text: it has the end symbol in it, or is padded by other than less than eight
 * ones.
 */
export function huffmanText(bytes: Uint8Array, from: number, to: number): string | undefined {
  const text: number[] = [];
  let node = 0;
  let bits = 0;
  let isPadding = true;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0;
    for (let bit = 7; bit >= 0; bit--) {
      const one = (byte >>> bit) & 1;
      const next = TREE[2 * node + one] ?? 0;
      bits++;
      if (one === 0) isPadding = false;
      if (next >= 0) {
        node = next;
        continue;
      }
      if (next === -END - 1) return undefined;
      text.push(-next - 1);
      node = 0;
      bits = 0;
      isPadding = true;
    }
  }
  if (bits > 7 || !isPadding) return undefined;
  return Buffer.from(text).toString("latin1");
}
