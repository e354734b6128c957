/** The output of a command as a page keeps it. */

/** Text of one stream. */
export interface OutputPiece {
  readonly stream: "stdout" | "stderr";
  readonly text: string;
}

/** The end of an output, in the order in which it came. */
export interface Output {
  readonly pieces: readonly OutputPiece[];
  /** Characters before it that are not kept. */
  readonly cut: number;
}

/** Most characters that are kept. */
export const MOST_KEPT = 200_000;

/** An output with more text at its end. */
export function withOutput({ cut, pieces }: Output, stream: OutputPiece["stream"], text: string): Output {
  const last = pieces.at(-1);
  const all = last?.stream === stream ? [...pieces.slice(0, -1), { stream, text: last.text + text }] : [...pieces, { stream, text }];
  let over = all.reduce((sum, piece) => sum + piece.text.length, 0) - MOST_KEPT;
  if (over <= 0) return { pieces: all, cut };
  const kept: OutputPiece[] = [];
  const before = over;
  for (const piece of all) {
    const dropped = Math.min(over, piece.text.length);
    over -= dropped;
    if (dropped < piece.text.length) kept.push({ ...piece, text: piece.text.slice(dropped) });
  }
  return { pieces: kept, cut: cut + before };
}
