import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { complete, type NamesOf } from "../../src/cli/complete.ts";
import { completionScript, shells } from "../../src/cli/completion-script.ts";
import { commandTree } from "../../src/commands/index.ts";
import { lacksProgram } from "../harness/needs.ts";

const words = async (...given: string[]) => {
  const lines = (await complete(commandTree, given)).trimEnd().split("\n");
  return { values: lines.slice(0, -1).map((line) => line.split("\t")[0]), otherwise: lines.at(-1), lines };
};

describe("words that fit", () => {
  test("commands, verbs, and the words of help", async () => {
    expect((await words("")).values).toEqual(expect.arrayContaining(["apply", "query", "server"]));
    expect((await words("ver")).lines).toEqual(["version\tPrint build information", ":none"]);
    expect((await words("server", "st")).values).toEqual(["start", "status", "stop"]);
    expect((await words("--json", "server", "lo")).values).toEqual(["logs"]);
    expect((await words("help", "server", "st")).values).toEqual(["start", "status", "stop"]);
    expect((await words("features", "")).values).toEqual(["list", "show", "search", "resolve"]);
    expect((await words("nonsense", "")).lines).toEqual([":none"]);
    expect((await words("--empty", "server")).values).toEqual(["start", "status", "stop", "logs"]);
  });

  test("flags, local and global, and their values", async () => {
    expect((await words("version", "--t")).values).toEqual(["--tag-only", "--token", "--template"]);
    expect((await words("version", "--js")).values).toEqual(["--json"]);
    expect((await words("completion", "")).values).toEqual(["bash", "zsh", "fish", "powershell"]);
    expect((await words("completion", "--no-color", "z")).values).toEqual(["zsh"]);
    expect((await words("config", "--format", "")).values).toContain("env");
    expect((await words("config", "--format=js")).values).toEqual(["--format=json"]);
    expect((await words("version", "--json", "--ve")).values).toEqual(["--verbose", "--version"].slice(0, 1));
    expect((await words("version", "--auth-config", "")).otherwise).toBe(":files");
    expect((await words("version", "-C", "")).otherwise).toBe(":dirs");
    expect((await words("version", "--", "")).otherwise).toBe(":files");
  });
});

describe("names that the server knows", () => {
  const NAMES: Readonly<Record<string, readonly string[]>> = {
    feature: ["user.id", "user.email"],
    output: ["user", "user.id", "user.email"],
    branch: ["main", "try"],
    environment: ["default"],
    deployment: ["dpl_1"],
    source: ["main", "dpl_1"],
  };
  const asked: [string, object][] = [];
  const names = async (...given: string[]) => {
    const serverNames: NamesOf = async (noun, globals) => {
      asked.push([noun, globals]);
      return (NAMES[noun] ?? []).map((value) => ({ value, meaning: "from the server" }));
    };
    const text = await complete(commandTree, given, { serverNames });
    return text
      .trimEnd()
      .split("\n")
      .slice(0, -1)
      .map((line) => line.split("\t")[0]);
  };

  test("features, classes, branches, environments and deployments, where they are asked for", async () => {
    expect(await names("query", "--out", "user.")).toEqual(["user.id", "user.email"]);
    expect(await names("query", "--out", "")).toEqual(["user", "user.id", "user.email"]);
    expect(await names("query", "--out=user.e")).toEqual(["--out=user.email"]);
    expect(await names("query", "--out", "user.id,user.e")).toEqual(["user.id,user.email"]);
    expect(await names("query", "--in", "user.i")).toEqual(["user.id="]);
    expect(await names("query", "--in", "user.id=1")).toEqual([]);
    expect(await names("query", "--deployment", "")).toEqual(["dpl_1"]);
    expect(await names("apply", "--branch=t")).toEqual(["--branch=try"]);
    expect(await names("apply", "--branch", "")).toEqual(["main", "try"]);
    expect(await names("apply", "--branch", "--dry")).toEqual(["--dry-run"]);
    expect(await names("source", "--branch", "try", "")).toEqual(["dpl_1"]);
    expect((await names("environment", "")).at(-1)).toBe("default");
    expect(await names("source", "")).toEqual(["dpl_1"]);
    expect(await names("diff", "main", "d")).toEqual(["dpl_1"]);
    expect(await names("features", "resolve", "--fqns", "user.id,")).toEqual(["user.id,user.id", "user.id,user.email"]);
  });

  test("the flags before them say which server, environment and branch", async () => {
    asked.length = 0;
    await names("--environment", "prod", "query", "--api-server=http://x", "--branch=b", "--in", "user.id=1", "--out", "");
    expect(asked).toEqual([["output", { environment: "prod", apiHost: "http://x", branch: "b" }]]);
  });

  test("without a server there are none", async () => {
    expect((await words("query", "--out", "")).lines).toEqual([":none"]);
  });
});

describe("scripts", () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), "svc-complete-"));
    mkdirSync(join(dir, "files", "folder"), { recursive: true });
    writeFileSync(join(dir, "files", "some file.yml"), "");
    const main = join(import.meta.dir, "../../src/main.ts");
    writeFileSync(join(dir, "svc"), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
    chmodSync(join(dir, "svc"), 0o755);
    for (const shell of shells) writeFileSync(join(dir, `svc.${shell}`), completionScript(shell));
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  const env = () => ({ PATH: `${dir}:${process.env.PATH}`, HOME: dir, TERM: "dumb" });

  /**
   * What bash would offer for words split as its COMP_WORDBREAKS split them; the last is the one
   * being typed.
   */
  function bash(...typed: string[]): string[] {
    const list = typed.map((word) => `'${word}'`).join(" ");
    const script = `source ${dir}/svc.bash
COMP_WORDS=(svc ${list}); COMP_CWORD=${typed.length}
_svc
for reply in "\${COMPREPLY[@]}"; do echo "$reply"; done
complete -p svc`;
    const { stdout, stderr, exitCode } = Bun.spawnSync(["bash", "--norc", "-c", script], {
      cwd: join(dir, "files"),
      env: env(),
    });
    expect([exitCode, stderr.toString()]).toEqual([0, ""]);
    const lines = stdout.toString().trimEnd().split("\n");
    expect(lines.at(-1)).toContain("-F _svc svc");
    return lines.slice(0, -1);
  }

  test.skipIf(lacksProgram("bash"))("bash", () => {
    expect(bash("ver")).toEqual(["version"]);
    expect(bash("server", "st")).toEqual(["start", "status", "stop"]);
    expect(bash("server", "")).toEqual(["start", "status", "stop", "logs"]);
    expect(bash("config", "--format", "=", "js")).toEqual(["json"]);
    expect(bash("config", "--format", "=")).toEqual(["table", "json", "env", "shell", "svcpy"]);
    expect(bash("--api-host", "http", ":", "//x", "vers")).toEqual(["version"]);
    expect(bash("version", "--auth-config", "so")).toEqual(["some file.yml"]);
    expect(bash("version", "-C", "")).toEqual(["folder"]);
    expect(bash("nonsense", "")).toEqual([]);
  });

  test.skipIf(lacksProgram("bash"))(
    "bash, with keys pressed on a terminal",
    async () => {
      let screen = "";
      const ready = (mark: string) =>
        new Promise<void>((resolve) => {
          const timer = setInterval(() => {
            if (!screen.includes(mark)) return;
            clearInterval(timer);
            resolve();
          }, 10);
        });
      const child = Bun.spawn(["bash", "--norc", "--noprofile", "-i"], {
        cwd: dir,
        env: { ...env(), PS1: "ready> ", TERM: "xterm", INPUTRC: "/dev/null" },
        terminal: {
          data(_terminal, bytes) {
            screen += new TextDecoder().decode(bytes);
          },
        },
      });
      child.terminal?.write(`source ${dir}/svc.bash; echo sourced-$((40 + 2))\n`);
      await ready("sourced-42");
      child.terminal?.write("svc version --tag-o\t\n");
      await ready("v0.0.0-dev");
      expect(screen).toContain("svc version --tag-only");
      child.terminal?.write("exit\n");
      await child.exited;
    },
    300_000,
  );

  test.skipIf(lacksProgram("zsh"))("zsh", () => {
    const { exitCode, stderr } = Bun.spawnSync(["zsh", "-n", join(dir, "svc.zsh")], { env: env() });
    expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  });

  test.skipIf(lacksProgram("fish"))("fish", () => {
    const script = `source ${dir}/svc.fish; complete -C 'svc server st'`;
    const { stdout, stderr } = Bun.spawnSync(["fish", "--no-config", "-c", script], { env: env() });
    expect(stderr.toString()).toBe("");
    expect(
      stdout
        .toString()
        .trim()
        .split("\n")
        .map((line) => line.split("\t")[0]),
    ).toEqual(["start", "status", "stop"]);
  });

  test.skipIf(lacksProgram("pwsh"))("PowerShell", () => {
    const script = `. ${dir}/svc.powershell; (TabExpansion2 'svc server st' 13).CompletionMatches.CompletionText -join ' '`;
    const { stdout } = Bun.spawnSync(["pwsh", "-NoProfile", "-Command", script], { env: env() });
    expect(stdout.toString().trim()).toBe("start status stop");
  });
});
