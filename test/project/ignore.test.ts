import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { listFiles } from "../../src/project/ignore.ts";
import { seeded } from "../domain/seed.ts";
import { type Content, makeTree, removeTrees } from "./temp-tree.ts";

afterAll(removeTrees);

async function list(files: Record<string, Content>, options: Parameters<typeof listFiles>[1] = {}, below = "") {
  const root = await makeTree(files);
  return (await listFiles(join(root, below), options)).map((file) => file.path);
}

describe("listFiles", () => {
  test("both kinds of ignore files, in every folder, the deeper one first", async () => {
    const files = {
      ".gitignore": "*.log\n/build/\n# comment\n\\#odd\n",
      ".svcignore": "secret.txt\n",
      "a.py": "",
      "a.log": "",
      "secret.txt": "",
      "#odd": "",
      "build/x.py": "",
      "pkg/build/x.py": "",
      "pkg/.gitignore": "!keep.log\n*.tmp\n",
      "pkg/keep.log": "",
      "pkg/other.log": "",
      "pkg/x.tmp": "",
      "pkg/deep/y.tmp": "",
    };
    expect(await list(files)).toEqual([".gitignore", ".svcignore", "a.py", "pkg/.gitignore", "pkg/build/x.py", "pkg/keep.log"]);
  });

  test(".svcignore takes back in what .gitignore leaves out", async () => {
    expect(await list({ ".gitignore": "*.db\n", ".svcignore": "!model.db\n", "model.db": "", "other.db": "" })).toEqual([
      ".gitignore",
      ".svcignore",
      "model.db",
    ]);
  });

  test("nothing below an ignored folder comes back", async () => {
    expect(await list({ ".gitignore": "data/\n!data/keep.csv\n", "data/keep.csv": "" })).toEqual([".gitignore"]);
    expect(await list({ ".gitignore": "data/*\n!data/keep.csv\n", "data/keep.csv": "", "data/x.csv": "" })).toEqual([
      ".gitignore",
      "data/keep.csv",
    ]);
  });

  test("what is never uploaded", async () => {
    const files = {
      ".git/config": "",
      "a/__pycache__/x.py": "",
      ".venv/x.py": "",
      "a/node_modules/x.py": "",
      "a/b.pyc": "",
      "a/b.py": "",
      ".svcignore": "!*.pyc\n",
    };
    expect(await list(files)).toEqual([".svcignore", "a/b.py"]);
  });

  test("the ignore file of an environment", async () => {
    const files = { "dev.ignore": "big.csv\n", "big.csv": "", "a.py": "" };
    expect(await list(files, { ignoreFile: "dev.ignore" })).toEqual(["a.py", "dev.ignore"]);
    expect(list(files, { ignoreFile: "no.ignore" })).rejects.toThrow("The ignore file no.ignore named in the project file does not exist.");
  });

  test("rules of the git work tree above the project, unless they ignore the project itself", async () => {
    const files = {
      ".git/HEAD": "",
      ".gitignore": "*.csv\n/project/local.py\n",
      "project/a.py": "",
      "project/b.csv": "",
      "project/local.py": "",
    };
    expect(await list(files, {}, "project")).toEqual(["a.py"]);
    expect(await list({ ...files, ".gitignore": "/project/\n*.csv\n" }, {}, "project")).toEqual(["a.py", "b.csv", "local.py"]);
    expect(await list({ ".gitignore": "*.csv\n", "project/b.csv": "" }, {}, "project")).toEqual(["b.csv"]);
  });

  test("links are followed inside of the project, and skipped with a note where they leave it or go in circles", async () => {
    const outside = await makeTree({ "secret.txt": "s" });
    const notes: string[] = [];
    const files: Record<string, Content> = {
      "a.py": "12345",
      "pkg/b.py": "",
      "alias.py": { link: "a.py" },
      linked: { link: "pkg" },
      "pkg/up": { link: ".." },
      "out.txt": { link: join(outside, "secret.txt") },
      outdir: { link: outside },
      gone: { link: "nowhere" },
    };
    expect(await list(files, { note: (text) => notes.push(text) })).toEqual(["a.py", "alias.py", "linked/b.py", "pkg/b.py"]);
    expect(notes.sort()).toEqual([
      "Skipped gone: the link leads nowhere.",
      expect.stringMatching(/^Skipped linked\/up: the link leads to a folder that it is in\.$/),
      `Skipped out.txt: the link leads out of the project, to ${outside}/secret.txt.`,
      `Skipped outdir: the link leads out of the project, to ${outside}.`,
      "Skipped pkg/up: the link leads to a folder that it is in.",
    ]);
  });

  test("sizes, and names of any kind", async () => {
    const root = await makeTree({ "é 😀.py": "123", "a\nb.py": "", "-x": "1" });
    expect(await listFiles(root)).toEqual([
      { path: "-x", size: 1 },
      { path: "a\nb.py", size: 0 },
      { path: "é 😀.py", size: 3 },
    ]);
  });
});

const git = Bun.which("git");

test.skipIf(!git)(
  "what git would not ignore is what is listed, on random trees",
  async () => {
    const name = fc.constantFrom("a", "b", "ab", "a.log", "b.log", "x.tmp", "build", "A", "c d");
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
    const pattern = fc
      .tuple(
        fc.constantFrom("", "!", "!", "/", "**/", "!/"),
        fc.constantFrom(
          "a",
          "b",
          "*.log",
          "a*",
          "build",
          "*",
          "?",
          "[ab]",
          "a/b",
          "*/a",
          "a/**",
          "**/b",
          "x.tmp",
          "ab/",
          "c d",
          "# no",
          " ",
        ),
        fc.constantFrom("", "/", "/*"),
      )
      .map((parts) => parts.join(""));
    const ignoreFile = fc.tuple(fc.constantFrom("", "", "a/", "b/", "a/b/", "build/"), fc.array(pattern, { minLength: 1, maxLength: 4 }));
    const env = { PATH: process.env.PATH ?? "", HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" };
    await fc.assert(
      fc.asyncProperty(
        fc.array(path, { minLength: 3, maxLength: 12 }),
        fc.array(ignoreFile, { minLength: 1, maxLength: 3 }),
        async (paths, ignores) => {
          const files: Record<string, string> = {};
          for (const [folder, patterns] of ignores) files[`${folder}.gitignore`] = `${patterns.join("\n")}\n`;
          for (const file of paths) {
            const isFolder = Object.keys(files).some((other) => other.startsWith(`${file}/`));
            const isBelowFile = file.split("/").some((_, index, parts) => index > 0 && parts.slice(0, index).join("/") in files);
            if (!isFolder && !isBelowFile) files[file] = "";
          }
          const clean = Object.entries(files).filter(
            ([file]) => !file.split("/").some((_, index, parts) => index > 0 && parts.slice(0, index).join("/") in files),
          );
          const root = await makeTree(Object.fromEntries(clean));
          Bun.spawnSync(["git", "init", "-q", root], { env });
          const seen = Bun.spawnSync(
            ["git", "-C", root, "-c", "core.quotePath=false", "ls-files", "--others", "--exclude-standard", "-z"],
            { env },
          );
          const expected = seen.stdout.toString().split("\0").filter(Boolean).sort();
          const all = clean.map(([file]) => file);
          const checked = Bun.spawnSync(["git", "-C", root, "check-ignore", "-z", "--stdin", "--no-index"], {
            env,
            stdin: Buffer.from(all.join("\0")),
          });
          const ignored = new Set(checked.stdout.toString().split("\0").filter(Boolean));
          const listed = (await listFiles(root)).map((file) => file.path);
          expect(listed).toEqual(expected);
          expect(listed).toEqual(all.filter((file) => !ignored.has(file)).sort());
        },
      ),
      seeded(60),
    );
  },
  60_000,
);
