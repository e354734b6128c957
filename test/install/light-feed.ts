/**
 * A feed whose latest release is a script of some lines: for tests of what the installer does with
 * folders, files and signals. A real build takes most of a second of each processor to be unpacked,
 * summed and copied, and behaves the same there.
 */

import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import type { BuiltFeed } from "../harness/release-feed.ts";
import { CHANGED_VERSION, releaseVariant, sha256 } from "./release-variant.ts";

/** Says of itself what svc says; all else is done by the real build. */
const script = (real: string) => `#!/bin/sh
case "$*" in
  "version --tag-only") echo ${CHANGED_VERSION} ;;
  version) printf '%s\\n' 'Version: ${CHANGED_VERSION}' 'Platform: test' 'Hash: 0' 'Build Time: 0' ;;
  *) exec '${real}' "$@" ;;
esac
`;

/** Makes the feed in `folder`, which is new; older releases are those of `feed`. */
export async function lightFeed(feed: BuiltFeed, folder: string): Promise<BuiltFeed> {
  const program = `svc-${feed.target}`;
  const build = Buffer.from(script(join(feed.dir, "releases", CHANGED_VERSION, program)));
  const files: Readonly<Record<string, Buffer>> = {
    [program]: build,
    [`${program}.zst`]: zstdCompressSync(build),
    [`${program}.gz`]: gzipSync(build),
  };
  const sums = (text: string) =>
    text.replaceAll(/^\w+( {2}(\S+))$/gm, (line, rest: string, name: string) => {
      const content = files[name];
      return content === undefined ? line : `${sha256(content)}${rest}`;
    });
  return { ...feed, dir: await releaseVariant(feed, folder, { files, sums, sign: {} }) };
}
