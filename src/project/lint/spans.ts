/** Spans in Python files. */

import type { Span } from "../../../gen/svc/v1/error_pb.ts";
import { LineMap } from "../../domain/line-map.ts";
import type { PythonModule } from "./python-module.ts";

/** Spans of definitions; the line map of a file is made on first use. */
export class Spans {
  readonly #lines = new Map<string, LineMap>();

  /** The span between two offsets of a module. */
  of(module: Pick<PythonModule, "path" | "text">, from: number, to: number): Span {
    let lines = this.#lines.get(module.path);
    if (!lines) {
      lines = new LineMap(module.path, module.text);
      this.#lines.set(module.path, lines);
    }
    return lines.span(from, to);
  }
}
