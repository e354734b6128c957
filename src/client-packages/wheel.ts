/**
 * The wheel of the Python package `svc` (packaging.python.org, "Binary distribution format"): a zip
 * of its files with the metadata that installers read. It needs no other package, and no Python to
 * be made.
 */

import { zip } from "../disk/archive-file.ts";
import { REQUIRES_PYTHON, SUPPORTED_MINORS } from "../python/runtime.ts";
import { sdkFiles } from "../python/sdk.ts";
import { licenceText } from "./baked-licence.ts";
import { entryTime, PACKAGE_LEVEL, type PackagedBuild, type PackageFile, plainVersion, SUMMARY } from "./package-file.ts";

/** The version as PEP 440 has it. */
export function wheelVersion(build: PackagedBuild): string {
  return plainVersion(build).replace(/-dev$/, ".dev0");
}

/** The file name of the wheel. */
export function wheelName(build: PackagedBuild): string {
  return `svc-${wheelVersion(build)}-py3-none-any.whl`;
}

/** The wheel of a build. One build gives the same bytes each time. */
export async function wheel(build: PackagedBuild): Promise<PackageFile> {
  const version = wheelVersion(build);
  const info = `svc-${version}.dist-info`;
  const files: (readonly [path: string, text: string])[] = [
    ...Object.entries(sdkFiles()).map(([path, text]) => [path, path === "svc/__init__.py" ? stamped(text, version) : text] as const),
    [`${info}/licenses/LICENSE`, licenceText()],
    [`${info}/METADATA`, metadata(version)],
    [`${info}/WHEEL`, "Wheel-Version: 1.0\nGenerator: svc\nRoot-Is-Purelib: true\nTag: py3-none-any\n"],
    [`${info}/top_level.txt`, "svc\n"],
  ];
  const record = `${info}/RECORD`;
  const rows = files.map(
    ([path, text]) => `${path},sha256=${new Bun.CryptoHasher("sha256").update(text).digest("base64url")},${Buffer.byteLength(text)}`,
  );
  const entries = [...files, [record, `${[...rows, `${record},,`].join("\n")}\n`] as const];
  const content = await zip({
    files: entries.map(([path, text]) => ({ path, content: Buffer.from(text), mode: 0o644 })),
    time: entryTime(build),
    level: PACKAGE_LEVEL,
  });
  return { name: wheelName(build), content };
}

/** The package's own file with the version that the wheel has. */
function stamped(text: string, version: string): string {
  return text.replace(/^__version__ = ".*"$/m, `__version__ = "${version}"`);
}

function metadata(version: string): string {
  const lines = [
    "Metadata-Version: 2.4",
    "Name: svc",
    `Version: ${version}`,
    `Summary: ${SUMMARY}`,
    "License-Expression: Apache-2.0",
    "License-File: LICENSE",
    `Requires-Python: ${REQUIRES_PYTHON}`,
    "Classifier: Programming Language :: Python :: 3",
    "Classifier: Programming Language :: Python :: 3 :: Only",
    ...[...SUPPORTED_MINORS].reverse().map((minor) => `Classifier: Programming Language :: Python :: 3.${minor}`),
    "Classifier: Typing :: Typed",
    "Provides-Extra: pandas",
    'Requires-Dist: pandas>=2; extra == "pandas"',
    'Requires-Dist: pyarrow; extra == "pandas"',
    "Provides-Extra: polars",
    'Requires-Dist: polars>=1; extra == "polars"',
    "Provides-Extra: pyarrow",
    'Requires-Dist: pyarrow; extra == "pyarrow"',
    "Description-Content-Type: text/markdown",
  ];
  return `${lines.join("\n")}\n\n${DESCRIPTION}`;
}

const DESCRIPTION = `# svc

Features, resolvers and the client of svc, a feature platform for real-time machine learning.

\`\`\`python
from svc.client import SvcClient

with SvcClient() as client:
    print(client.query({"user.id": 1}, ["user.name"])["user.name"])
\`\`\`

\`AsyncSvcClient\` has the same calls for asyncio. Only the standard library is needed; tables of
pandas, polars and pyarrow are taken and given where these are installed.
`;
