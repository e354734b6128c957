/** The driver of SQLite: files, and databases in memory. */

import { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { SqlError } from "./source.ts";
import type { SourceDriver } from "./source-driver.ts";
import { SqliteSource } from "./sqlite.ts";
import { SqliteMemorySource } from "./sqlite-memory.ts";

/**
 * Configured by `<NAME>_SQLITE_PATH`, or in code by `path`, or by `script` for a
 * database in memory.
 */
export const sqliteDriver: SourceDriver = {
  kind: SourceKind.SQLITE,
  names: ["sqlite"],
  variable: "SQLITE_PATH",
  open({ name, prefix, read, declared: { script }, sourceRoot }) {
    const path = read("SQLITE_PATH", "path");
    if (!path && script !== undefined) return new SqliteMemorySource(name, script);
    if (!path) throw new SqlError(`source '${name}' has no file: give \`path=\` in code or set ${prefix}_SQLITE_PATH`);
    return new SqliteSource(name, path, sourceRoot);
  },
};
