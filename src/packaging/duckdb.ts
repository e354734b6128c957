/**
 * The database library in the binary: its files for a target, compressed, in the place of
 * `server/tables/duckdb/library-files.ts`.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { constants, type ZstdOptions, zstdCompressSync } from "node:zlib";
import { RELEASE_TARGETS } from "../domain/release/target.ts";
import { PackagingError } from "./packaging-error.ts";

/** The table engine's library in a build. */
export interface TableOptions {
  /** Whether it is part of the binary. */
  readonly included: boolean;
  /** Compression level of zstd, 1 to 19. */
  readonly level: number;
}

const SCOPE = "@duckdb";
/** The addon, which loads the library beside it. */
const ADDON = "duckdb.node";
/** Names of the library's files: of the addon, and of the library on each system. */
const FILES = /^(duckdb\.node|libduckdb\.so|libduckdb\.dylib|duckdb\.dll)$/;

/**
 * The plugin that puts the library of a target into the binary.
 * @param bunTarget Bun's name of the target's runtime; undefined for this machine
 */
export function duckdbPlugin(root: string, bunTarget: string | undefined, { included, level }: TableOptions): Bun.BunPlugin {
  return {
    name: "database library",
    setup(build) {
      build.onLoad({ filter: /[\\/]server[\\/]tables[\\/]duckdb[\\/]library-files\.ts$/ }, ({ path }) => ({
        contents: included ? packed(root, libraryPackage(root, bunTarget), level, dirname(path)) : ABSENT,
        loader: "ts",
      }));
    },
  };
}

const ABSENT = `export const libraryFiles = () => ({ kind: "absent", reason: "it was built without one" });\n`;

/** The package with the library for a runtime. */
function libraryPackage(root: string, bunTarget: string | undefined): string {
  const target = RELEASE_TARGETS.find(({ bun }) => bun === bunTarget);
  if (target) {
    const { os, arch, name } = target;
    return `node-bindings-${os === "windows" ? "win32" : os}-${arch === "amd64" ? "x64" : arch}${name.includes("-musl") ? "-musl" : ""}`;
  }
  const own = `node-bindings-${process.platform}-${process.arch}`;
  return [own, `${own}-musl`].find((name) => existsSync(join(root, "node_modules", SCOPE, name))) ?? own;
}

/**
 * The module of a library that is part of the binary, for a folder: it names files relative to
 * that, because source maps hold its text. Throws PackagingError.
 */
function packed(root: string, name: string, level: number, folder: string): string {
  const source = join(root, "node_modules", SCOPE, name);
  if (!existsSync(source))
    throw new PackagingError(
      `${SCOPE}/${name} is not installed, and the binary has to hold it; ` +
        "`bun install --frozen-lockfile --os='*' --cpu='*'` brings those of all targets, and --without-tables builds without any",
    );
  const contents = readdirSync(source)
    .filter((file) => FILES.test(file))
    .sort()
    .map((file) => ({ file, content: readFileSync(join(source, file)) }));
  const hash = new Bun.CryptoHasher("sha256");
  for (const { file, content } of contents) hash.update(`${file}\0${content.length}\0`).update(content);
  const assets = contents.map(({ file, content }) => ({ file, content, path: compressed(root, file, content, level) }));
  const imports = assets.map(
    ({ path }, at) => `import file${at} from ${JSON.stringify(relative(folder, path).replaceAll("\\", "/"))} with { type: "file" };`,
  );
  const files = assets.map(({ file, content }, at) => {
    const check = Bun.hash.xxHash64(content).toString(16).padStart(16, "0");
    return `{ name: ${JSON.stringify(file)}, asset: file${at}, size: ${content.length}, check: "${check}" }`;
  });
  return `${imports.join("\n")}
export const libraryFiles = () => ({ kind: "packed", hash: "${hash.digest("hex")}", addon: "${ADDON}", files: [${files.join(", ")}] });
`;
}

/**
 * Path of a file's compressed form, which is kept beside the dependencies by the hash of its
 * content: compressing takes longer than all the rest of a build.
 */
function compressed(root: string, name: string, content: Buffer, level: number): string {
  const hash = new Bun.CryptoHasher("sha256").update(content).digest("hex").slice(0, 32);
  const path = join(root, "node_modules", ".cache", "svc", `${hash}-${level}`, `${name}.zst`);
  if (existsSync(path)) return path;
  const options = {
    pledgedSrcSize: content.length,
    params: {
      [constants.ZSTD_c_compressionLevel]: level,
      [constants.ZSTD_c_windowLog]: 27,
      [constants.ZSTD_c_enableLongDistanceMatching]: 1,
      [constants.ZSTD_c_checksumFlag]: 1,
    },
  };
  mkdirSync(dirname(path), { recursive: true });
  const beside = `${path}.${process.pid}`;
  writeFileSync(beside, zstdCompressSync(content, options as ZstdOptions));
  renameSync(beside, path);
  rmSync(beside, { force: true });
  return path;
}
