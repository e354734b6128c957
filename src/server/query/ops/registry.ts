/** Every kind of operation. */

import type { OpKind } from "../plan/plan.ts";
import { expressionOp } from "./expression-op.ts";
import { joinOp } from "./join-op.ts";
import type { Op } from "./op.ts";
import { pythonOp } from "./python-op.ts";
import { rowsOp } from "./rows-op.ts";
import { scanOp } from "./scan-op.ts";
import { sqlOp } from "./sql-op.ts";
import { tilesOp } from "./tiles-op.ts";
import { translatedOp } from "./translated-op.ts";

/** The kinds of operations by name: a kind without an entry does not compile. */
export const OPS: Readonly<Record<OpKind, Op>> = {
  expression: expressionOp,
  join: joinOp,
  python: pythonOp,
  rows: rowsOp,
  scan: scanOp,
  sql: sqlOp,
  tiles: tilesOp,
  translated: translatedOp,
};
