import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../client/test-context.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
});
afterAll(() => platform.server.stop());

const svc = (path: string, words: readonly string[] = [], options: object = {}) => runCommand(path, words, { ...platform, ...options });

describe("flares", () => {
  test("a project's files are sent, listed and downloaded, without what looks like a secret", async () => {
    const dir = writeProject({ "notes.md": "it fails here\n", ".env": "TOKEN=hunter2\n", "broken.py": "def (" });
    const sent = await svc("flare", [], { dir });
    expect([sent.exitCode, sent.stdout]).toEqual([0, expect.stringMatching(/^ID: {3}flr_[0-9a-f]{32}\nName: demo\n$/)]);
    expect(sent.stderr).toContain("Sending 5 files");
    expect(sent.stderr).toContain(".env");
    const { flares } = (await svc("flare/list", ["--json"])).json() as { flares: { id: string; agent: string; size_bytes: number }[] };
    expect(flares).toMatchObject([{ name: "demo", agent: expect.stringMatching(/^svc v\S+ \(\S+\)$/) }]);
    const output = join(tempFolder("svc-flare-"), "out");
    const id = flares[0]?.id ?? "";
    const got = await svc("flare/download", ["--id", id, "--output", output]);
    expect([got.exitCode, got.stdout]).toEqual([0, `${output}\n`]);
    expect(readdirSync(output).sort()).toEqual(["broken.py", "features.py", "notes.md", "resolvers.py", "svc.yaml"]);
    expect(readFileSync(join(output, "notes.md"), "utf8")).toBe("it fails here\n");
    const again = await svc("flare/download", ["--id", id, "--output", output]);
    expect([again.exitCode, existsSync(join(output, "notes.md"))]).toEqual([1, true]);
  });

  test("without a terminal an id is needed, and an unknown one is refused", async () => {
    expect((await svc("flare/download")).stderr).toContain("--id is required");
    const unknown = await svc("flare/download", ["--id", "flr_none"]);
    expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining("There is no flare 'flr_none'.")]);
  });

  test("the newest fifty are kept", async () => {
    const dir = writeProject();
    for (let n = 0; n < 51; n++) {
      writeFileSync(join(dir, "n.md"), `${n}\n`);
      expect((await svc("flare", [], { dir })).exitCode).toBe(0);
    }
    const { flares } = (await svc("flare/list", ["--json"])).json() as { flares: { created_at: string }[] };
    expect(flares.length).toBe(50);
    expect(flares.map(({ created_at }) => created_at)).toEqual(
      flares
        .map(({ created_at }) => created_at)
        .toSorted()
        .toReversed(),
    );
  }, 300_000);
});

describe("feedback", () => {
  test("what is piped in is kept, and an administrator reads it", async () => {
    const sent = await svc("feedback", [], { input: ["windows are great", "thanks"] });
    expect([sent.exitCode, sent.stdout]).toEqual([0, expect.stringMatching(/^Kept as: fbk_[0-9a-f]{32}\n$/)]);
    expect(sent.stderr).toContain("not sent anywhere else");
    const { feedback } = (await svc("feedback", ["--list", "--json"])).json() as { feedback: { text: string }[] };
    expect(feedback.map(({ text }) => text)).toEqual(["windows are great\nthanks"]);
  });

  test("an empty text and one that is too long are refused, and nothing is kept", async () => {
    expect((await svc("feedback", [], { input: [" "] })).exitCode).toBe(2);
    expect((await svc("feedback", [], { input: ["x".repeat(10_001)] })).stderr).toContain("10001 characters");
    expect(((await svc("feedback", ["--list", "--json"])).json() as { feedback: unknown[] }).feedback.length).toBe(1);
  });
});
