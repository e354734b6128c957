/** Wheels for tests: packages of one module. */

import { zip } from "../../../src/disk/archive-file.ts";

/** The bytes of a wheel. */
export async function makeWheel(name: string, version: string, source: string): Promise<Uint8Array<ArrayBuffer>> {
  const about = `${name}-${version}.dist-info`;
  const texts = {
    [`${name}.py`]: source,
    [`${about}/METADATA`]: `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`,
    [`${about}/WHEEL`]: "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    [`${about}/RECORD`]: "",
  };
  const files = Object.entries(texts).map(([path, text]) => ({ path, content: Buffer.from(text), mode: 0o644 }));
  return new Uint8Array(await zip({ files, time: Date.UTC(2024, 0, 1), level: 6 }));
}
