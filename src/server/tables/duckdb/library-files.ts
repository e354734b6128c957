/**
 * The files of the database library. A run from source has them in `node_modules`; the build
 * replaces this module with one whose files are compressed parts of the binary
 * (`packaging/duckdb.ts`).
 */

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** A file of the library in the binary. */
export interface PackedFile {
  /** Name under which it is unpacked. */
  readonly name: string;
  /** Path in the binary of its zstd form. */
  readonly asset: string;
  /** Bytes when unpacked. */
  readonly size: number;
  /** xxHash64 of the unpacked bytes, in hex. */
  readonly check: string;
}

/** Where the library is. */
export type LibraryFiles =
  /** In a folder, ready: the path of its addon. */
  | { readonly kind: "installed"; readonly addon: string }
  /** In the binary; `hash` is that of all its contents. */
  | { readonly kind: "packed"; readonly hash: string; readonly addon: string; readonly files: readonly PackedFile[] }
  /** Not there: `reason` says why. */
  | { readonly kind: "absent"; readonly reason: string };

/** The library of this program. */
export function libraryFiles(): LibraryFiles {
  const { platform, arch } = process;
  const found = ["", "-musl"]
    .map((libc) =>
      join(
        dirname(Bun.resolveSync("@duckdb/node-bindings/package.json", import.meta.dir)),
        `../node-bindings-${platform}-${arch}${libc}/duckdb.node`,
      ),
    )
    .find((path) => existsSync(path));
  return found === undefined
    ? { kind: "absent", reason: `@duckdb/node-bindings-${platform}-${arch} is not installed; \`bun install\` brings it` }
    : { kind: "installed", addon: found };
}
