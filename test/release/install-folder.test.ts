/**
 * The folder of builds: what is there, what is current, what was so before; also as Windows has it.
 */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  currentVersion,
  type InstallFolder,
  installedBuilds,
  installFolder,
  previousVersion,
  readReceipt,
} from "../../src/release/install-folder.ts";
import { managerOf } from "../../src/release/managed-install.ts";
import { removeTemporaryFiles, switchTo } from "../../src/release/switch-build.ts";

let home: string;
let bin: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "svc-folder-")));
  bin = join(home, ".svc", "bin");
  mkdirSync(bin, { recursive: true });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const surroundings = (execPath: string, platform: NodeJS.Platform = "linux") => ({ env: {}, homeDir: home, execPath, platform });

function folder(platform: NodeJS.Platform = "linux"): InstallFolder {
  return installFolder(surroundings("/nowhere/bun", platform));
}

function addBuild(version: string, extension = ""): void {
  writeFileSync(join(bin, `svc-${version}${extension}`), `build ${version}`, { mode: 0o755 });
}

describe("where builds are", () => {
  test("beside the running one, when that was installed", () => {
    const other = join(home, "opt");
    mkdirSync(other);
    writeFileSync(join(other, "svc-v0.1.0"), "");
    symlinkSync("svc-v0.1.0", join(other, "svc"));
    for (const running of [join(other, "svc"), join(other, "svc-v0.1.0")])
      expect(installFolder(surroundings(running))).toMatchObject({ path: other, link: join(other, "svc") });
  });

  test("else below SVC_HOME", () => {
    writeFileSync(join(home, "svc"), "");
    for (const running of [join(home, "svc"), "/usr/bin/bun", "/gone/svc-v0.1.0"])
      expect(installFolder(surroundings(running))).toMatchObject({ path: bin });
    expect(installFolder({ ...surroundings("/usr/bin/bun"), env: { SVC_HOME: "/elsewhere" } }).path).toBe("/elsewhere/bin");
  });
});

describe.each([
  ["a link", "linux", ""],
  ["a copy, on Windows", "win32", ".exe"],
] as const)("the current build is %s", (_, platform, extension) => {
  const link = () => join(bin, `svc${extension}`);

  test("switching, and what is remembered of it", async () => {
    for (const version of ["v0.1.0", "v0.2.0", "v0.10.0"]) addBuild(version, extension);
    const place = folder(platform);
    expect(await currentVersion(place)).toBeUndefined();
    await switchTo(place, "v0.1.0", { source: "https://releases.example.com", target: "linux-amd64" });
    expect([await currentVersion(place), previousVersion(place, "v0.1.0")]).toEqual(["v0.1.0", undefined]);
    await switchTo(place, "v0.10.0", { source: "/media/usb", target: "linux-amd64" });
    await switchTo(place, "v0.2.0", {});
    expect(await currentVersion(place)).toBe("v0.2.0");
    expect(readFileSync(link(), "utf8")).toBe("build v0.2.0");
    expect(previousVersion(place, "v0.2.0")).toBe("v0.10.0");
    expect(readReceipt(bin)).toEqual({ source: "https://releases.example.com", target: "linux-amd64", history: ["v0.1.0", "v0.10.0"] });
    expect((await installedBuilds(place)).map(({ version, current }) => [version, current])).toEqual([
      ["v0.10.0", false],
      ["v0.2.0", true],
      ["v0.1.0", false],
    ]);
    rmSync(join(bin, `svc-v0.10.0${extension}`));
    expect(previousVersion(place, "v0.2.0")).toBe("v0.1.0");
  });

  test("without a memory, the newest older build is the one to go back to", () => {
    for (const version of ["v0.9.0", "v0.10.0", "v0.11.0", "v1.0.0"]) addBuild(version, extension);
    const place = folder(platform);
    expect(previousVersion(place, "v0.11.0")).toBe("v0.10.0");
    expect(previousVersion(place, "v0.9.0")).toBeUndefined();
  });

  test("what killed updates have left is swept away, and nothing else", async () => {
    addBuild("v0.1.0", extension);
    const place = folder(platform);
    await switchTo(place, "v0.1.0", {});
    for (const name of [".svc-update-1.part", ".svc-update-2.new", ".svc-update.lock", "svc-notes", ".svc-installed"])
      writeFileSync(join(bin, name), "");
    removeTemporaryFiles(place);
    expect(readdirSync(bin).sort()).toEqual(
      [".svc-install.json", ".svc-installed", ".svc-update.lock", `svc${extension}`, "svc-notes", `svc-v0.1.0${extension}`].sort(),
    );
  });
});

test("a link that leads elsewhere makes no build current", async () => {
  addBuild("v0.1.0");
  symlinkSync("/usr/bin/env", join(bin, "svc"));
  expect(await currentVersion(folder())).toBeUndefined();
});

test("a plain file in the place of the link is kept under the name of its version", async () => {
  writeFileSync(join(bin, "svc"), "put there by hand");
  addBuild("v0.2.0");
  const place = installFolder(surroundings(join(bin, "svc")));
  expect(place.path).toBe(bin);
  await switchTo(place, "v0.2.0", {});
  expect(readlinkSync(join(bin, "svc"))).toBe("svc-v0.2.0");
  expect(existsSync(join(bin, "svc-v0.0.0-dev"))).toBe(true);
  copyFileSync(join(bin, "svc-v0.2.0"), join(bin, "svc-v0.3.0"));
  await switchTo(place, "v0.3.0", {});
  expect(readlinkSync(join(bin, "svc"))).toBe("svc-v0.3.0");
});

describe("installations that something else keeps current", () => {
  const never = () => false;
  const container = (path: string) => path === "/.dockerenv";
  test.each([
    ["/opt/homebrew/Cellar/svc/0.2.0/bin/svc", never, "Homebrew"],
    ["/home/linuxbrew/.linuxbrew/Cellar/svc/0.2.0/bin/svc", never, "Homebrew"],
    ["C:\\Users\\ada\\scoop\\apps\\svc\\current\\svc.exe", never, "Scoop"],
    ["C:\\Users\\ada\\AppData\\Local\\Microsoft\\WinGet\\Packages\\svc\\svc.exe", never, "winget"],
    ["/nix/store/abc-svc/bin/svc", never, "Nix"],
    ["/usr/local/bin/svc", container, "the container's image"],
    ["/usr/local/bin/svc", never, undefined],
    ["/root/.svc/bin/svc-v0.1.0", container, undefined],
    ["C:\\Users\\ada\\.svc\\bin\\svc.exe", never, undefined],
  ] as const)("%s", (path, exists, name) => {
    expect(managerOf(path, exists)?.name).toBe(name as string);
  });
});
