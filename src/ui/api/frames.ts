/** The frames of Connect's streams: a byte of flags, the length in four bytes, and the content. */

const HEAD_BYTES = 5;
/** Flag of the last frame, which holds the error or nothing. */
const END = 0b10;
const COMPRESSED = 0b1;
/** Most bytes of one frame. */
const MOST_BYTES = 64 * 1024 * 1024;

/** The content of a frame. */
export interface Frame {
  readonly isEnd: boolean;
  readonly text: string;
}

/** One message as a frame. */
export function frameOf(text: string): Uint8Array<ArrayBuffer> {
  const content = new TextEncoder().encode(text);
  const frame = new Uint8Array(HEAD_BYTES + content.length);
  new DataView(frame.buffer).setUint32(1, content.length);
  frame.set(content, HEAD_BYTES);
  return frame;
}

/**
 * Makes a reader of frames that come in pieces: each call gets the next bytes and returns the
 * frames that are whole. Throws RangeError for a frame that is compressed or too long.
 */
export function createFrameReader(): (bytes: Uint8Array) => Frame[] {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = new Uint8Array(0);
  return (bytes) => {
    const all = new Uint8Array(rest.length + bytes.length);
    all.set(rest);
    all.set(bytes, rest.length);
    const frames: Frame[] = [];
    let at = 0;
    while (all.length - at >= HEAD_BYTES) {
      const flags = all[at] ?? 0;
      const length = new DataView(all.buffer, at + 1, 4).getUint32(0);
      if (flags & COMPRESSED || length > MOST_BYTES) throw new RangeError("a frame that cannot be read");
      if (all.length - at - HEAD_BYTES < length) break;
      const start = at + HEAD_BYTES;
      frames.push({ isEnd: (flags & END) !== 0, text: decoder.decode(all.subarray(start, start + length)) });
      at = start + length;
    }
    rest = all.slice(at);
    return frames;
  };
}
