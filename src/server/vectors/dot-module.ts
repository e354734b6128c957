/**
 * A WebAssembly module that multiplies rows of bytes by one row of 16-bit numbers, sixteen elements
 * at a step. It is written as its instructions: 30 lines of a language need no compiler of it.
 */

/** What the module exports. All places are bytes of its memory. */
export interface DotExports {
  /**
   * Writes the products of `count` rows, one or more, as 32-bit numbers to `out`.
   * @param stride bytes of a row, a multiple of 16 above zero
   * @param by the row of 16-bit numbers, as many as a row has bytes
   */
  dots(rows: number, count: number, stride: number, by: number, out: number): void;
}

const I32 = 0x7f;
const V128 = 0x7b;
const NOTHING = 0x40;

/** The locals of the function: its parameters, then its own. */
const [ROWS, COUNT, STRIDE, BY, OUT, END, AT, SUM] = [0, 1, 2, 3, 4, 5, 6, 7];

const get = (local: number) => [0x20, local];
const set = (local: number) => [0x21, local];
const constant = (value: number) => [0x41, value];
const add = [0x6a];
const below = [0x49];
const loop = (...body: number[][]) => [0x03, NOTHING, ...body.flat()];
const again = [0x0d, 0];
const end = [0x0b];
const storeNumber = [0x36, 2, 0];
const simd = (...code: number[]) => [0xfd, ...code];
const zeros = simd(0x0c, ...new Array<number>(16).fill(0));
const load = (offset: number) => simd(0x00, 0, offset);
const lowHalf = simd(0x87, 0x01);
const highHalf = simd(0x88, 0x01);
const productsOfPairs = simd(0xba, 0x01);
const addLanes = simd(0xae, 0x01);
const lane = (at: number) => simd(0x1b, at);
const step = (local: number, by: number[]) => [...get(local), ...by, ...add, ...set(local)];
const timesHalf = (half: number[], offset: number) => [
  ...get(ROWS),
  ...load(0),
  ...half,
  ...get(AT),
  ...load(offset),
  ...productsOfPairs,
  ...get(SUM),
  ...addLanes,
  ...set(SUM),
];

const BODY = [
  loop(
    [...zeros, ...set(SUM), ...get(BY), ...set(AT)],
    [...get(ROWS), ...get(STRIDE), ...add, ...set(END)],
    loop(timesHalf(lowHalf, 0), timesHalf(highHalf, 16), step(AT, constant(32)), step(ROWS, constant(16)), [
      ...get(ROWS),
      ...get(END),
      ...below,
      ...again,
      ...end,
    ]),
    get(OUT),
    [0, 1, 2, 3].flatMap((at) => [...get(SUM), ...lane(at), ...(at > 0 ? add : [])]),
    storeNumber,
    step(OUT, constant(4)),
    step(COUNT, constant(0x7f)), // minus one
    [...get(COUNT), ...again, ...end],
  ),
].flat();

const text = (name: string) => [name.length, ...Buffer.from(name)];
const section = (id: number, ...content: number[]) => [id, ...length(content.length), ...content];

/** A length as LEB128. */
function length(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, value >> 7];
}

const LOCALS = [2, 2, I32, 1, V128];
const FUNCTION = [...LOCALS, ...BODY, ...end];

const BYTES = Uint8Array.from([
  ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...section(1, 1, 0x60, 5, I32, I32, I32, I32, I32, 0),
  ...section(2, 1, ...text("m"), ...text("memory"), 0x02, 0x00, 1),
  ...section(3, 1, 0),
  ...section(7, 1, ...text("dots"), 0x00, 0),
  ...section(10, 1, ...length(FUNCTION.length), ...FUNCTION),
]);

/** Compiles the module; undefined on a processor without the instructions. */
export function dotModule(): WebAssembly.Module | undefined {
  return WebAssembly.validate(BYTES) ? new WebAssembly.Module(BYTES) : undefined;
}
