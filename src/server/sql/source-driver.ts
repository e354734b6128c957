/** How a kind of source is opened. */

import type { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import type { SqlSource } from "./source.ts";

/**
 * Reads one setting of a source: from its environment variable, else from code. Undefined when
 * neither has it or it is empty.
 */
export type ReadSetting = (variable: string, key: string) => string | undefined;

/** A source as it was declared. */
export interface SourceSettings {
  readonly name: string;
  /** What the names of its environment variables begin with, before `_`. */
  readonly prefix: string;
  readonly read: ReadSetting;
  /**
   * Folder that relative paths start from: the deployment's source; undefined when there is none.
   */
  readonly sourceRoot: string | undefined;
}

/** A kind of source. */
export interface SourceDriver {
  readonly kind: SourceKind;
  /** As users write it in place of a source's name; the first is how it is shown. */
  readonly names: readonly string[];
  /** The environment variable, behind a prefix and `_`, that alone makes a source of this kind. */
  readonly variable: string;
  /**
   * Makes a source; it connects on first use. Throws SqlError for settings that are missing or
   * wrong.
   */
  open(settings: SourceSettings): SqlSource;
}
