/** Skills from folders and hosts: taken with their digests, whole or not at all. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { tempFolder } from "../client/test-context.ts";
import { runMain } from "../harness/context.ts";

const SKILL = (name: string, description = "Does what we do. Use when we do it.") =>
  `---\nname: ${name}\ndescription: ${description}\n---\n\n# ${name}\n`;

interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder of skills with its manifest; `sums` replaces lines of it. */
function skillFolder(files: Record<string, string | Uint8Array>, sums?: (lines: string[]) => string[]): string {
  const folder = tempFolder("svc-skills-");
  const lines = Object.entries(files).map(([path, content]) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
    return `${createHash("sha256").update(content).digest("hex")}  ${path}`;
  });
  writeFileSync(join(folder, "SHA256SUMS"), `${(sums?.(lines) ?? lines).join("\n")}\n`);
  return folder;
}

const install = (dir: string, ...words: string[]): Promise<Ran> =>
  runMain(["install", "agent-skill", ...words], { cwd: dir, env: { HOME: dir } });
const filesBelow = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((one) =>
        one.isDirectory() ? [] : [join(one.parentPath, one.name)],
      )
    : [];

/** That an installation was refused with some words, and left nothing. */
async function refused(from: string, words: RegExp, name = "ours"): Promise<void> {
  const dir = tempFolder("svc-project-");
  const { exitCode, stdout, stderr } = await install(dir, name, "--claude", "--from", from);
  expect([exitCode, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(words);
  expect(filesBelow(dir)).toEqual([]);
}

const OURS = { "ours/SKILL.md": SKILL("ours"), "ours/scripts/check.py": "print('ok')\n", "README.md": "About\n" };

describe("a folder", () => {
  test("gives its skill with all files, for several agents at once; run again, it changes nothing", async () => {
    const from = skillFolder(OURS);
    const dir = tempFolder("svc-project-");
    const first = await install(dir, "ours", "--claude", "--codex", "--cursor", "--path", "more", "--from", from);
    const places = [".agents/skills", ".claude/skills", ".cursor/skills", "more"].map((place) => join(dir, place));
    expect(first.stdout.trimEnd().split("\n").sort()).toEqual(
      places.flatMap((place) => [`installed ${place}/ours/SKILL.md`, `installed ${place}/ours/scripts/check.py`]).sort(),
    );
    expect(readFileSync(join(dir, ".claude/skills/ours/scripts/check.py"), "utf8")).toBe("print('ok')\n");
    const second = await install(dir, "ours", "--claude", "--from", from);
    expect(second.stdout).toBe(`unchanged ${dir}/.claude/skills/ours/SKILL.md\nunchanged ${dir}/.claude/skills/ours/scripts/check.py\n`);
    writeFileSync(join(dir, ".claude/skills/ours/SKILL.md"), "changed");
    writeFileSync(join(dir, ".claude/skills/ours/notes.md"), "mine");
    expect((await install(dir, "ours", "--claude", "--from", from)).stdout).toContain("updated");
    const removed = await install(dir, "ours", "--claude", "--from", from, "--delete");
    expect(removed.stdout.match(/^removed /gm)?.length).toBe(2);
    expect(filesBelow(join(dir, ".claude"))).toEqual([join(dir, ".claude/skills/ours/notes.md")]);
    expect((await install(dir, "ours", "--claude", "--from", from, "--delete", "--json")).stdout).toContain('"absent"');
  });

  test("whose file has another digest is refused, and nothing is installed", async () => {
    const from = skillFolder({ ...OURS, "ours/z.md": "last" });
    writeFileSync(join(from, "ours/z.md"), "forged");
    await refused(from, /ours\/z\.md is not what SHA256SUMS lists: its SHA-256 is [0-9a-f]{64}\nNothing was installed/);
  });

  test("of which one skill of two is damaged installs neither", async () => {
    const from = skillFolder({ "good/SKILL.md": SKILL("good"), "ours/SKILL.md": SKILL("ours") });
    writeFileSync(join(from, "ours/SKILL.md"), SKILL("ours", "Another."));
    const dir = tempFolder("svc-project-");
    expect((await install(dir, "good", "ours", "--claude", "--from", from)).exitCode).toBe(1);
    expect(filesBelow(dir)).toEqual([]);
  });

  test.each([
    ["a file that is absent", OURS, (lines: string[]) => [...lines, `${"0".repeat(64)}  ours/gone.md`], /ours\/gone\.md is not there/],
    [
      "a path that leads out",
      OURS,
      (lines: string[]) => [...lines, `${"0".repeat(64)}  ours/../../evil`],
      /line 4: no skill may have a file at/,
    ],
    [
      "an absolute path",
      OURS,
      (lines: string[]) => [...lines, `${"0".repeat(64)}  /etc/passwd`],
      /no skill may have a file at '\/etc\/passwd'/,
    ],
    ["a hidden file", OURS, (lines: string[]) => [...lines, `${"0".repeat(64)}  ours/.env`], /no skill may have a file/],
    ["a backslash", OURS, (lines: string[]) => [...lines, `${"0".repeat(64)}  ours/..\\evil`], /no skill may have a file/],
    ["a device of Windows", OURS, (lines: string[]) => [...lines, `${"0".repeat(64)}  ours/con.md`], /no skill may have a file/],
    ["an escape sequence", OURS, (lines: string[]) => [...lines, `${"0".repeat(64)}  ours/\u001b[2J`], /'ours\/\\x1b\[2J'/],
    ["a path twice, but for case", OURS, (lines: string[]) => [...lines, `${"0".repeat(64)}  ours/skill.md`], /listed twice/],
    ["no digest", OURS, () => ["not a digest  ours/SKILL.md"], /line 1: it is no line of sha256sum/],
    ["no skill", { "README.md": "x" }, undefined, /lists no skill/],
    ["a name that is none", { "Ours/SKILL.md": SKILL("Ours") }, undefined, /no skill may have a file/],
    ["no front matter", { "ours/SKILL.md": "# ours\n" }, undefined, /no front matter/],
    ["another name in it", { "ours/SKILL.md": SKILL("theirs") }, undefined, /does not have its name/],
    ["no description", { "ours/SKILL.md": SKILL("ours", "''") }, undefined, /no description/],
    ["a text that is none", { "ours/SKILL.md": new Uint8Array([0xff, 0xfe]) }, undefined, /no UTF-8 text/],
    ["a huge file", { ...OURS, "ours/huge.md": "x".repeat(300_000) }, undefined, /larger than/],
    [
      "huge files",
      { ...OURS, ...Object.fromEntries([1, 2, 3, 4, 5].map((at) => [`ours/${at}.md`, "x".repeat(250_000)])) },
      undefined,
      /more than 1024 KiB/,
    ],
    [
      "too many files",
      { ...OURS, ...Object.fromEntries([...Array(50).keys()].map((at) => [`ours/${at}.md`, "x"])) },
      undefined,
      /more than 50 files/,
    ],
  ] as const)("with %s is refused", (_, files, sums, words) => refused(skillFolder(files as Record<string, string>, sums as never), words));

  test("with links is refused, whatever they lead to", async () => {
    const secret = join(tempFolder("svc-skills-"), "secret");
    writeFileSync(secret, "print('ok')\n");
    const file = skillFolder(OURS);
    rmSync(join(file, "ours/scripts/check.py"));
    symlinkSync(secret, join(file, "ours/scripts/check.py"));
    await refused(file, /is a link/);
    const below = skillFolder(OURS);
    rmSync(join(below, "ours/scripts"), { recursive: true });
    mkdirSync(join(dirname(secret), "scripts"));
    writeFileSync(join(dirname(secret), "scripts/check.py"), "print('ok')\n");
    symlinkSync(join(dirname(secret), "scripts"), join(below, "ours/scripts"));
    await refused(below, /is a link, or below one/);
  });

  test("without a manifest says how one is made; one that is not there is told", async () => {
    await refused(tempFolder("svc-skills-"), /has no SHA256SUMS\n.*sha256sum \*\/SKILL\.md > SHA256SUMS/);
    await refused(join(tempFolder("svc-skills-"), "gone"), /is not there/);
    await refused(skillFolder(OURS), /there is no skill 'ous'; did you mean 'ours'\?\nSkills: ours/, "ous");
  });
});

describe("a host", () => {
  let server: Bun.Server<undefined>;
  let base: string;
  const served = new Map<string, Response | (() => Response)>();
  beforeAll(() => {
    server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch({ url }) {
        const found = served.get(new URL(url).pathname);
        return (typeof found === "function" ? found() : found?.clone()) ?? new Response("none", { status: 404 });
      },
    });
    base = `http://127.0.0.1:${server.port}`;
    const digest = createHash("sha256").update(SKILL("ours")).digest("hex");
    served.set("/main/SHA256SUMS", new Response(`${digest}  ./ours/SKILL.md\n`));
    served.set("/main/ours/SKILL.md", new Response(SKILL("ours")));
    served.set("/forged/SHA256SUMS", new Response(`${digest}  ours/SKILL.md\n`));
    served.set("/forged/ours/SKILL.md", new Response(SKILL("ours", "Another.")));
    served.set("/endless/SHA256SUMS", () => new Response(new ReadableStream({ pull: (stream) => stream.enqueue(new Uint8Array(65_536)) })));
    served.set("/away/SHA256SUMS", new Response(null, { status: 302, headers: { location: "ftp://127.0.0.1/x" } }));
    served.set("/broken/SHA256SUMS", new Response("x", { status: 500 }));
  });
  afterAll(() => server.stop(true));

  test("gives its skill", async () => {
    const dir = tempFolder("svc-project-");
    const { stdout } = await install(dir, "ours", "--codex", "--from", `${base}/main/`);
    expect(stdout).toBe(`installed ${dir}/.agents/skills/ours/SKILL.md\n`);
  });

  test.each([
    ["another digest", "/forged", /is not what SHA256SUMS lists/],
    ["a manifest without end", "/endless", /larger than 1 MiB/],
    ["a redirect elsewhere", "/away", /redirect/],
    ["an error", "/broken", /HTTP status 500/],
    ["nothing", "/nothing", /has no SHA256SUMS/],
    ["a query in the address", "/main?token=x", /is no address of skills/],
  ])("with %s is refused", (_, path, words) => refused(base + path, words));

  test("is asked over https, or on this machine", async () => {
    for (const address of ["http://example.com/skills", "ftp://127.0.0.1/x", "https://user:secret@example.com/", "https://"])
      await refused(address, /is no address of skills\nWrite it as https:/);
  });
});

describe("places", () => {
  const OWN = "write-features";

  test("are the project's root, or with --global the user's own folders", async () => {
    const dir = tempFolder("svc-project-");
    mkdirSync(join(dir, "deep/er"), { recursive: true });
    writeFileSync(join(dir, "svc.yaml"), "project: x\n");
    const inProject = await runMain(["install", "agent-skill", OWN, "--claude"], { cwd: join(dir, "deep/er"), env: { HOME: dir } });
    expect(inProject.stdout).toBe(`installed ${dir}/.claude/skills/${OWN}/SKILL.md\n`);
    const env = { HOME: join(dir, "home"), CODEX_HOME: join(dir, "codex") };
    const words = ["install", "agent-skill", OWN, "--claude", "--codex", "--cursor", "--global"];
    expect((await runMain(words, { cwd: dir, env })).stdout).toBe(
      [`${dir}/codex`, `${dir}/home/.claude`, `${dir}/home/.cursor`].map((place) => `installed ${place}/skills/${OWN}/SKILL.md\n`).join(""),
    );
    const short = await runMain(["init", "agent-skill", OWN, "--json"], { cwd: dir, env });
    expect(JSON.parse(short.stdout)).toEqual({
      files: [{ skill: OWN, path: `${dir}/home/.claude/skills/${OWN}/SKILL.md`, outcome: "unchanged" }],
    });
  });

  test("have to be named where nobody can be asked, and skills too", async () => {
    const dir = tempFolder("svc-project-");
    const nowhere = await install(dir, OWN);
    expect([nowhere.exitCode, nowhere.stderr]).toEqual([2, expect.stringContaining("--codex, --claude, --cursor or --path is required")]);
    const nothing = await install(dir, "--claude");
    expect([nothing.exitCode, nothing.stderr]).toEqual([2, expect.stringMatching(/<skill> is required[\s\S]*Skills: .*write-features/)]);
    const wrong = await install(dir, "write-feature", "--claude");
    expect([wrong.exitCode, wrong.stderr]).toEqual([1, expect.stringContaining("did you mean 'write-features'?")]);
  });

  test("are never reached through a link of the project", async () => {
    const [dir, elsewhere] = [tempFolder("svc-project-"), tempFolder("svc-elsewhere-")];
    const tries: [string, string][] = [
      [".claude", elsewhere],
      [".claude/skills", elsewhere],
      [`.claude/skills/${OWN}`, elsewhere],
      [`.claude/skills/${OWN}/SKILL.md`, join(elsewhere, "file")],
    ];
    writeFileSync(join(elsewhere, "file"), "theirs");
    for (const [link, target] of tries) {
      mkdirSync(dirname(join(dir, link)), { recursive: true });
      symlinkSync(target, join(dir, link));
      for (const more of [[], ["--delete"]]) {
        const { exitCode, stderr } = await install(dir, OWN, "--claude", ...more);
        expect([link, exitCode, stderr]).toEqual([link, 1, expect.stringContaining("is a link, which skills are not written through")]);
      }
      rmSync(join(dir, ".claude"), { recursive: true });
    }
    expect([readdirSync(elsewhere), readFileSync(join(elsewhere, "file"), "utf8")]).toEqual([["file"], "theirs"]);
  });

  test("that something is in the way of change nothing elsewhere", async () => {
    const dir = tempFolder("svc-project-");
    mkdirSync(join(dir, `.cursor/skills/${OWN}/SKILL.md`), { recursive: true });
    const { exitCode, stderr } = await install(dir, OWN, "--claude", "--cursor");
    expect([exitCode, stderr, existsSync(join(dir, ".claude"))]).toEqual([
      1,
      expect.stringContaining("is in the way: it is no file"),
      false,
    ]);
  });
});
