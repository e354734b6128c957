/**
 * Branded index types of the parts of a plan and of its run: the compiler distinguishes them, and
 * at run time each is a plain number.
 */

declare const indexOf: unique symbol;
type Index<List extends string> = number & { readonly [indexOf]: List };

/** Number of a slot in `Plan.slots`. */
export type SlotId = Index<"slots">;
/** Number of a frame in `Plan.frames`. */
export type FrameId = Index<"frames">;
/** Number of an op in `Plan.ops`. */
export type OpId = Index<"ops">;
/** Number of a row of a run, from 0. */
export type Row = Index<"rows">;
/** Number of the row of a frame for a row of a run. */
export type FrameRow = Index<"frame rows">;
/** Number of a cell of a run: the value of a slot for a row. */
export type CellId = Index<"cells">;

/** The first row of a run: where loops over its rows begin. */
export const FIRST_ROW = 0 as Row;
