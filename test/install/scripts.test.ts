/** What can be said of the install scripts without running them. */

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { RELEASE_TARGETS } from "../../src/domain/release/target.ts";
import { lacksProgram } from "../harness/needs.ts";

const ROOT = join(import.meta.dir, "../..");
const shell = readFileSync(join(ROOT, "install.sh"), "utf8");
const powershell = readFileSync(join(ROOT, "src/packaging/install.ps1"), "utf8");

describe("install.sh", () => {
  test.skipIf(lacksProgram("shellcheck"))("shellcheck has nothing to say", () => {
    const checked = Bun.spawnSync(["shellcheck", "--shell=sh", "--severity=style", join(ROOT, "install.sh")]);
    expect(checked.stdout.toString()).toBe("");
    expect(checked.exitCode).toBe(0);
  });

  for (const command of [["dash"], ["bash", "--posix"], ["busybox", "ash"], ["mksh"], ["zsh"]])
    test.skipIf(lacksProgram(command[0] ?? ""))(`${command.join(" ")} can read it`, () => {
      const read = Bun.spawnSync([...command, "-n", join(ROOT, "install.sh")], { stderr: "pipe" });
      expect({ exitCode: read.exitCode, stderr: read.stderr.toString() }).toEqual({ exitCode: 0, stderr: "" });
    });

  test("every option of the usage is taken, and every option that is taken is in the usage", () => {
    const taken = [...shell.matchAll(/^ {6}(--[a-z-]+)(?: \| -h)?\)/gm)].map(([, name]) => name);
    const described = [...shell.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, name]) => name);
    expect(described.length).toBe(9);
    expect([...new Set(taken)].sort()).toEqual(described.sort());
  });
});

describe("install.ps1", () => {
  test("is ASCII, which Windows PowerShell reads right without a byte order mark", () => {
    expect(powershell).toMatch(/^[\t\n -~]*$/);
  });

  test("one call, on the last line, in braces: a download that breaks off is no program", () => {
    const [last, ...before] = powershell.trimEnd().split("\n").reverse();
    expect(last).toMatch(/^& \{ Install-Svc .* \}$/);
    expect(
      before.filter((line) => /^[^\s#}].*/.test(line) && !/^(function |param\(|\)$|\$(PUBLIC_KEY|BASE_URL) = ""$)/.test(line)),
    ).toEqual([]);
  });

  test("its targets are those of a release", () => {
    const named = [...powershell.matchAll(/'(windows-\w+)'/g)].map(([, name]) => name ?? "");
    const released = RELEASE_TARGETS.filter(({ os }) => os === "windows").map(({ name }) => name);
    expect(named.sort()).toEqual(released.sort());
  });

  const powershellProgram = Bun.which("powershell") ? "powershell" : "pwsh";
  test.skipIf(lacksProgram(powershellProgram))("PowerShell can read it", () => {
    const script = `$errors = $null; $null = [Management.Automation.Language.Parser]::ParseFile('${join(ROOT, "src/packaging/install.ps1")}', [ref]$null, [ref]$errors); $errors | ForEach-Object { $_.ToString() }; exit $errors.Count`;
    const read = Bun.spawnSync([powershellProgram, "-NoProfile", "-Command", script]);
    expect({ exitCode: read.exitCode, stdout: read.stdout.toString() }).toEqual({ exitCode: 0, stdout: "" });
  });
});
