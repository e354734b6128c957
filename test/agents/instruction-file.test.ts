/** The part of svc in files that belong to others. */

import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withPart } from "../../src/agents/instruction-file.ts";
import { tempFolder } from "../client/test-context.ts";
import { runMain } from "../harness/context.ts";

const BEGIN = "<!-- svc: begin. `svc init agent-prompt` writes what stands from here to the end mark. -->";
const END = "<!-- svc: end -->";

describe("the part", () => {
  test("is added behind what is there, and replaced where it is; all else stays to the byte", () => {
    const first = withPart("", "one\n", "x");
    expect(first).toBe(`${BEGIN}\none\n${END}\n`);
    const added = withPart("# Ours\n\nrules  \n", "one", "x");
    expect(added).toBe(`# Ours\n\nrules\n\n${BEGIN}\none\n${END}\n`);
    const between = `\ufeff# Ours\r\n\r\n${BEGIN}\r\nold\r\nmore\r\n${END}\r\n\tbehind \r\n`;
    expect(withPart(between, "new\nlines", "x")).toBe(`\ufeff# Ours\r\n\r\n${BEGIN}\r\nnew\r\nlines\r\n${END}\r\n\tbehind \r\n`);
    for (const text of [first, added, between])
      expect(withPart(withPart(text, "$& $1", "x"), "$& $1", "x")).toBe(withPart(text, "$& $1", "x"));
    expect(withPart(added, "$& $1", "x")).toContain("\n$& $1\n");
  });

  test.each([[BEGIN], [END], [`${END}\n${BEGIN}`], [`${BEGIN}\n${BEGIN}\n${END}`], [`${BEGIN}\n${END}\n${END}`]])(
    "with marks that do not belong together is refused: %p",
    (text) =>
      expect(() => withPart(`# Ours\n${text}\n`, "new", "AGENTS.md")).toThrow("AGENTS.md has marks of svc that do not belong together"),
  );
});

describe("svc init agent-prompt", () => {
  const init = (cwd: string, provider: string) => runMain(["init", "agent-prompt", provider], { cwd });

  test("writes the same for each agent at the root of the project, and says when nothing changed", async () => {
    const dir = tempFolder("svc-project-");
    mkdirSync(join(dir, "deep"));
    writeFileSync(join(dir, "svc.yaml"), "project: x\n");
    const files = { codex: "AGENTS.md", claude: "CLAUDE.md", copilot: ".github/copilot-instructions.md", augment: ".augment/rules/svc.md" };
    for (const [provider, file] of Object.entries(files)) {
      expect((await init(join(dir, "deep"), provider)).stdout).toBe(`Wrote ${dir}/${file}\n`);
      expect(readFileSync(join(dir, file), "utf8")).toBe(readFileSync(join(dir, "AGENTS.md"), "utf8"));
    }
    expect((await init(dir, "codex")).stdout).toBe(`${dir}/AGENTS.md is current\n`);
    writeFileSync(join(dir, "AGENTS.md"), "# Ours\n");
    expect((await init(dir, "codex")).stdout).toBe(`Updated the part of svc in ${dir}/AGENTS.md\n`);
    expect(readFileSync(join(dir, "AGENTS.md"), "utf8")).toStartWith("# Ours\n\n<!-- svc: begin");
    const unknown = await init(dir, "copilots");
    expect([unknown.exitCode, unknown.stderr]).toEqual([2, expect.stringContaining("codex, claude, copilot, augment")]);
  });

  test("goes through a link within the project, and through no other", async () => {
    const [dir, elsewhere] = [tempFolder("svc-project-"), tempFolder("svc-elsewhere-")];
    writeFileSync(join(dir, "CLAUDE.md"), "# Ours\n");
    symlinkSync("CLAUDE.md", join(dir, "AGENTS.md"));
    expect((await init(dir, "codex")).stdout).toBe(`Updated the part of svc in ${dir}/CLAUDE.md\n`);
    expect((await init(dir, "claude")).stdout).toBe(`${dir}/CLAUDE.md is current\n`);
    symlinkSync(elsewhere, join(dir, ".github"));
    mkdirSync(join(dir, ".augment/rules"), { recursive: true });
    symlinkSync(join(elsewhere, "gone.md"), join(dir, ".augment/rules/svc.md"));
    for (const provider of ["copilot", "augment"])
      expect((await init(dir, provider)).stderr).toContain("leads out of the project by a link");
    expect(existsSync(join(elsewhere, "gone.md"))).toBe(false);
  });

  test("leaves a file that is no text as it is", async () => {
    const dir = tempFolder("svc-project-");
    writeFileSync(join(dir, "AGENTS.md"), new Uint8Array([0xff, 0x00]));
    expect((await init(dir, "codex")).stderr).toContain("is no UTF-8 text");
    mkdirSync(join(dir, "CLAUDE.md"));
    expect((await init(dir, "claude")).stderr).toContain("it is a folder, not a file");
  });
});
