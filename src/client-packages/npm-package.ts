/** The npm package `svc-client`: the TypeScript client, in the format of `npm pack`. */

import { tarGz } from "../disk/archive-file.ts";
import { licenceText } from "./baked-licence.ts";
import { typescriptClientFiles } from "./baked-typescript-client.ts";
import { entryTime, PACKAGE_LEVEL, type PackagedBuild, type PackageFile, plainVersion, SUMMARY } from "./package-file.ts";

/** The file name of the package. */
export function npmPackageName(build: PackagedBuild): string {
  return `svc-client-${plainVersion(build)}.tgz`;
}

/** The package of a build. One build gives the same bytes each time. */
export async function npmPackage(build: PackagedBuild): Promise<PackageFile> {
  const texts: (readonly [path: string, text: string])[] = [
    ["package.json", manifest(plainVersion(build))],
    ["LICENSE", licenceText()],
    ["README.md", README],
    ...Object.entries(typescriptClientFiles()).map(([name, text]) => [`dist/${name}`, text] as const),
  ];
  const files = texts.map(([path, text]) => ({ path: `package/${path}`, content: Buffer.from(text), mode: 0o644 }));
  return { name: npmPackageName(build), content: await tarGz({ files, time: entryTime(build), level: PACKAGE_LEVEL }) };
}

function manifest(version: string): string {
  const fields = {
    name: "svc-client",
    version,
    description: SUMMARY,
    license: "Apache-2.0",
    type: "module",
    sideEffects: false,
    exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } },
    types: "./dist/index.d.ts",
    files: ["dist"],
    engines: { node: ">=20.3" },
  };
  return `${JSON.stringify(fields, null, 2)}\n`;
}

const README = `# svc-client

The TypeScript client of svc, a feature platform for real-time machine learning. It needs no other
package, and runs in Node 20.3 and newer, Bun, and browsers.

\`\`\`ts
import { SvcClient } from "svc-client";

const client = new SvcClient({ apiServer: "http://127.0.0.1:5757", clientId, clientSecret });
const { data, errors } = await client.query({ inputs: { "user.id": 1 }, outputs: ["user.name"] });
\`\`\`

Without settings, \`SVC_API_SERVER\`, \`SVC_CLIENT_ID\`, \`SVC_CLIENT_SECRET\` and \`SVC_ENVIRONMENT\`
count. In a browser pass \`token\` instead of an ID and a secret: the server takes calls of pages of its
own origin alone, so serve the page and the API from one origin, and have the page's server hand out
tokens that do not last.
`;
