/** A package that is installed without an index: `tinypkg`, whose ANSWER is 42. */

import { join } from "node:path";
import { anyPython } from "../python/project.ts";

const WHEEL = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("tinypkg.py", "ANSWER = 42\\n")
    wheel.writestr("tinypkg-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tinypkg\\nVersion: 1.0\\n")
    wheel.writestr("tinypkg-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("tinypkg-1.0.dist-info/RECORD", "")
`;

/** Writes the wheel into a folder; returns its path, which is a requirement. */
export async function tinyWheel(folder: string): Promise<string> {
  const wheel = join(folder, "tinypkg-1.0-py3-none-any.whl");
  const made = Bun.spawnSync([(await anyPython()) as string, "-c", WHEEL, wheel]);
  if (made.exitCode !== 0) throw new Error(made.stderr.toString());
  return wheel;
}
