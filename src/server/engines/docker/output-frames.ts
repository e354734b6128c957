/**
 * The frames in which an engine tells standard output and standard error apart: a byte that names
 * the stream, three of nothing, four of length (big-endian), and the bytes.
 */

const HEAD = 8;
const STDERR = 2;

/** Reads frames from pieces of a stream. Bytes are handed on before their frame is whole. */
export class OutputFrames {
  #head = new Uint8Array(HEAD);
  #had = 0;
  #left = 0;
  #isFirst = true;

  /** The bytes of a piece, each with its stream, and whether a frame begins with them. */
  *read(piece: Uint8Array): Iterable<{ readonly stream: "stdout" | "stderr"; readonly bytes: Uint8Array; readonly isFirst: boolean }> {
    for (let at = 0; at < piece.length; ) {
      if (this.#left === 0) {
        const taken = piece.subarray(at, at + HEAD - this.#had);
        this.#head.set(taken, this.#had);
        this.#had += taken.length;
        at += taken.length;
        if (this.#had < HEAD) return;
        this.#had = 0;
        this.#left = new DataView(this.#head.buffer).getUint32(4);
        this.#isFirst = true;
        continue;
      }
      const bytes = piece.subarray(at, at + this.#left);
      this.#left -= bytes.length;
      at += bytes.length;
      const isFirst = this.#isFirst;
      this.#isFirst = false;
      yield { stream: this.#head[0] === STDERR ? "stderr" : "stdout", bytes, isFirst };
    }
  }
}
