import { afterAll, describe, expect, test } from "bun:test";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { listFiles } from "../../src/project/ignore.ts";
import { lacksProgram } from "../harness/needs.ts";
import { patience, seeded } from "../harness/seed.ts";
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

  const SECRETS = [
    ".env",
    ".env.local",
    ".ENV.production",
    ".envrc",
    "a/.env",
    "cert.pem",
    "tls.key",
    "store.p12",
    "store.PFX",
    "store.jks",
    "x.keystore",
    "putty.ppk",
    "id_rsa",
    "id_rsa.old",
    "keys/id_ed25519",
    "id_ecdsa",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    "kubeconfig",
    "prod.kubeconfig",
    "a/.kube/config",
    ".aws/credentials",
    ".docker/config.json",
    "gcp-credentials.json",
    "credentials.json",
    "my_service_account.json",
    "service-account-prod.json",
    ".svc.yml",
    ".config/svc.yml",
  ];
  const HARMLESS = [
    ".env.example",
    ".env.local.sample",
    ".env.template",
    "env.py",
    "environment.yaml",
    "id_rsa.pub",
    "id_ed25519.pub",
    "id_rsapy/x.py",
    "keys.py",
    "key",
    "pem.py",
    "config.json",
    "kube/config",
    "aws/credentials",
    "credentials.py",
    "ssh/x",
    "svc/x.py",
    "config/svc.yml",
  ];

  test("what looks like a secret is left out and said, what is an example of it is not", async () => {
    const said: string[] = [];
    const all = [...SECRETS, ...HARMLESS, ".ssh/config", "b/.ssh/known_hosts", ".svc/data/server.key"];
    const kept = await list(Object.fromEntries(all.map((path) => [path, ""])), { onSecret: (path) => said.push(path) });
    expect(kept).toEqual([...HARMLESS].sort());
    expect(said.sort()).toEqual([...SECRETS, ".ssh/", "b/.ssh/", ".svc/"].sort());
  });

  test("a secret is taken back in by a .svcignore that names it, and by nothing else", async () => {
    const tree = { ".env": "", "a.pem": "", "certs/b.pem": "", "src/.env": "", "src/x.py": "" };
    const secrets = async (files: Record<string, string>, options: Parameters<typeof listFiles>[1] = {}) =>
      (await list({ ...tree, ...files }, options)).filter((path) => /\.(env|pem)$/.test(path));
    expect(await secrets({})).toEqual([]);
    expect(await secrets({ ".gitignore": "!.env\n!*.pem\n" })).toEqual([]);
    expect(await secrets({ ".svcignore": "!*\n!**\n!src/**\n!*/\n" })).toEqual([]);
    expect(await secrets({ ".svcignore": "*\n!*/\n!src/**\n" })).toEqual([]);
    expect(await secrets({ ".svcignore": "!.env\n" })).toEqual([".env", "src/.env"]);
    expect(await secrets({ ".svcignore": "!/.env\n" })).toEqual([".env"]);
    expect(await secrets({ ".svcignore": "!certs/*.pem\n" })).toEqual(["certs/b.pem"]);
    expect(await secrets({ "certs/.svcignore": "!b.pem\n" })).toEqual(["certs/b.pem"]);
    expect(await secrets({ ".svcignore": "!.env\n.env\n" })).toEqual([]);
    expect(await secrets({ ".svcignore": "!.env\n", "src/.svcignore": ".env\n" })).toEqual([".env"]);
    expect(await secrets({ ".gitignore": ".env\n", ".svcignore": "!.env\n" })).toEqual([".env", "src/.env"]);
    expect(await secrets({ prod: "!a.pem\n" }, { ignoreFile: "prod" })).toEqual(["a.pem"]);
    expect(await list({ ".ssh/config": "", ".ssh/id_rsa": "", ".svcignore": "!.ssh/\n" })).toEqual([".ssh/config", ".svcignore"]);
  });

  test("a link to a secret, or to a folder of them, is one too", async () => {
    const said: string[] = [];
    const files = {
      ".env": "x",
      ".ssh/config": "x",
      plain: { link: ".env" },
      conf: { link: ".ssh/config" },
      folder: { link: ".ssh" },
      "other.pem": { link: "plain.txt" },
      "plain.txt": "",
    };
    expect(await list(files, { onSecret: (path) => said.push(path) })).toEqual(["plain.txt"]);
    expect(said.sort()).toEqual([".env", ".ssh/", "conf", "folder", "other.pem", "plain"]);
    expect(await list({ ...files, ".svcignore": "!plain\n" })).toEqual([".svcignore", "plain", "plain.txt"]);
  });

  test.skipIf(process.platform !== "linux")("a name that is not UTF-8 is passed over, and shown as it is", async () => {
    const root = await makeTree({ "a.py": "", "odd\ufffd.txt": "1", "sub/x\ufffd": "" });
    const at = (name: string) => Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, "latin1")]);
    await writeFile(at("bad\xff\xfe.txt"), "");
    await writeFile(at("odd\xff.txt"), "22");
    await mkdir(at("sub/x\xff"));
    await writeFile(at("sub/x\xff/y"), "");
    await symlink(at("bad\xff\xfe.txt"), join(root, "link"));
    const notes: string[] = [];
    const files = await listFiles(root, { note: (text) => notes.push(text) });
    expect(files).toEqual([
      { path: "a.py", size: 0 },
      { path: "odd\ufffd.txt", size: 1 },
      { path: "sub/x\ufffd", size: 0 },
    ]);
    expect(notes.sort()).toEqual([
      "Skipped bad\\xff\\xfe.txt: its name is not UTF-8.",
      "Skipped link: the link leads nowhere.",
      "Skipped odd\\xff.txt: its name is not UTF-8.",
      "Skipped sub/x\\xff: its name is not UTF-8.",
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

test.skipIf(lacksProgram("git"))(
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
          await removeTrees();
        },
      ),
      seeded(60, 5_000),
    );
  },
  patience(300_000),
);
