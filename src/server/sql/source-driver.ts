/** The interface of drivers: each opens the sources of one kind. */

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
  /** The prefix of its environment variables' names, before `_`. */
  readonly prefix: string;
  readonly read: ReadSetting;
  /** The settings in code, for those that code alone has. */
  readonly declared: Readonly<Record<string, string>>;
  /** Folder to which paths are relative: the deployment's source; undefined when there is none. */
  readonly sourceRoot: string | undefined;
  /**
   * The server's own folder, in which a library that a driver needs is unpacked; undefined = a
   * temporary one.
   */
  readonly home: string | undefined;
}

/** The driver of a kind of source. */
export interface SourceDriver {
  readonly kind: SourceKind;
  /**
   * Names of the kind, which users may write in place of a source's name; the first one is
   * displayed.
   */
  readonly names: readonly string[];
  /**
   * The environment variable, after a prefix and `_`, that is enough to define a source of this
   * kind.
   */
  readonly variable: string;
  /**
   * Opens a source, which connects on first use. Throws SqlError for settings that are missing or
   * wrong.
   */
  open(settings: SourceSettings): SqlSource;
}
