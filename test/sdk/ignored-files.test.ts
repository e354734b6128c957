/** Which files of a folder an image is given: those that `svc apply` would upload. */

import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { listFiles } from "../../src/project/ignore.ts";
import { seeded } from "../harness/seed.ts";
import { type Content, makeTree, removeTrees } from "../project/temp-tree.ts";
import { INTERPRETERS, SDK_ROOT } from "./interpreters.ts";

afterAll(removeTrees);

const SCRIPT = `
import json, sys
from svc._client.ignored_files import listed_files
told = []
for root in json.load(sys.stdin):
    secrets = []
    told.append([listed_files(root, secrets.append, 10_000), sorted(secrets)])
json.dump(told, sys.stdout)
`;

/** What Python lists, and the secrets that it tells of. */
async function listedByPython(roots: readonly string[]): Promise<[string[], string[]][]> {
  const child = Bun.spawn([INTERPRETERS[0]?.path ?? "python3", "-B", "-X", "utf8", "-W", "error", "-c", SCRIPT], {
    env: { PYTHONPATH: SDK_ROOT },
    stdin: new TextEncoder().encode(JSON.stringify(roots)),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

async function listedByCommand(root: string): Promise<[string[], string[]]> {
  const secrets: string[] = [];
  const files = await listFiles(root, { onSecret: (path) => secrets.push(path) });
  return [files.map(({ path }) => path), secrets.sort()];
}

const SAME: Readonly<Record<string, Readonly<Record<string, Content>>>> = {
  "what is never uploaded": { "a.py": "", ".git/x": "", "__pycache__/a.pyc": "", "b/.venv/x": "", "b/a.pyc": "", "node_modules/a/b": "" },
  secrets: {
    ...{
      ".env": "",
      ".env.example": "",
      "key.pem": "",
      ID_RSA: "",
      "id_rsa.pub": "",
      ".ssh/x": "",
      "a/.aws/credentials": "",
      "a/credentials": "",
    },
    ...{
      "my-credentials-1.json": "",
      "service_account.json": "",
      ".config/svc.yml": "",
      "b/.npmrc": "",
      ".svcignore": "!key.pem\n!*\n",
      "b/c.key": "",
    },
    ...{ "b/.svcignore": "!c.key\n", "link.txt": { link: ".env" }, to: { link: ".ssh" } },
  },
  links: {
    ...{ "a/x": "", "a/up": { link: ".." }, b: { link: "a" }, c: { link: "a/x" }, d: { link: "/etc/hostname" }, e: { link: "none" } },
    ...{ "a/self": { link: "self" }, ".gitignore": "/b/x\n" },
  },
  "svcignore behind gitignore": {
    ".gitignore": "*.log\nbuild/\n",
    ".svcignore": "!keep.log\n",
    "keep.log": "",
    "a.log": "",
    "build/keep.log": "",
  },
  "marks of files": {
    ".gitignore": "\ufeffa.txt\r\nb.txt  \r\nc\\ \n\\#d\n\\!e\n# f\n",
    "a.txt": "",
    "b.txt": "",
    "c ": "",
    "#d": "",
    "!e": "",
    f: "",
  },
  ranges: {
    ".gitignore": "[a-c].x\n[!a].y\n[]z].z\n[[:digit:]].n\nx[\n\\*\n**\\/q\na**b\n",
    ...{ "a.x": "", "d.x": "", "a.y": "", "b.y": "", "].z": "", "1.n": "", "x[": "", "*": "", q: "", aXb: "", "a/cb": "" },
  },
};

test.each(Object.entries(SAME))("%s", async (_, files) => {
  const root = await makeTree(files);
  expect((await listedByPython([root]))[0]).toEqual(await listedByCommand(root));
});

test("rules of folders above count, up to the top of the git work tree", async () => {
  const top = await makeTree({
    ...{
      ".git/HEAD": "",
      ".gitignore": "*.tmp\n/app/x\n",
      "app/x": "",
      "app/y.tmp": "",
      "app/z": "",
      "app/sub/x": "",
      "app/sub/.gitignore": "!*.tmp\n",
    },
    "app/sub/a.tmp": "",
    "out/.gitignore": "",
    "out/a.tmp": "",
  });
  const roots = [join(top, "app"), join(top, "app/sub"), join(top, "out"), top];
  expect(await listedByPython(roots)).toEqual(await Promise.all(roots.map(listedByCommand)));
});

test("random folders with random rules", async () => {
  const name = fc.constantFrom("a", "b", "ab", "x.tmp", "c d", "build", "key.pem");
  const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
  const part = fc.constantFrom(
    "a",
    "b",
    "*",
    "**",
    "?",
    "[ab]",
    "[!a]*",
    "a*",
    "*.tmp",
    "x.tmp",
    "build",
    "key.pem",
    "c d",
    "c\\ d",
    "**b",
  );
  const pattern = fc
    .tuple(
      fc.constantFrom("", "", "!"),
      fc.constantFrom("", "", "/"),
      fc.array(part, { minLength: 1, maxLength: 3 }),
      fc.constantFrom("", "", "/", " "),
    )
    .map(([negation, start, parts, end]) => `${negation}${start}${parts.join("/")}${end}`);
  const ignoreFile = fc.tuple(
    fc.constantFrom("", "", "a/", "b/", "a/b/", "build/"),
    fc.constantFrom(".gitignore", ".svcignore"),
    fc.array(pattern, { minLength: 1, maxLength: 4 }),
  );
  const trees: { root: string; files: Record<string, string> }[] = [];
  await fc.assert(
    fc.asyncProperty(
      fc.array(path, { minLength: 3, maxLength: 12 }),
      fc.array(ignoreFile, { minLength: 1, maxLength: 3 }),
      async (paths, ignores) => {
        const files: Record<string, string> = {};
        for (const [folder, file, patterns] of ignores) files[folder + file] = `${patterns.join("\n")}\n`;
        for (const one of paths) files[one] = "";
        const clean = Object.fromEntries(
          Object.entries(files).filter(([one]) => !Object.keys(files).some((other) => other.startsWith(`${one}/`))),
        );
        trees.push({ root: await makeTree(clean), files: clean });
      },
    ),
    seeded(300, 2_000),
  );
  const listed = await listedByPython(trees.map(({ root }) => root));
  for (const [at, { files, root }] of trees.entries()) expect([files, listed[at]]).toEqual([files, await listedByCommand(root)]);
}, 300_000);
