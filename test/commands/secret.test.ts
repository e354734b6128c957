import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createMetadataClient, createMetadataEnvironment } from "./metadata-beside.ts";
import { type Outcome, type Platform, runCommand, startPlatform } from "./platform.ts";

let platform: Platform;
let readOnly: Record<string, string>;
beforeAll(async () => {
  platform = await startPlatform();
  await createMetadataEnvironment(platform, "other");
  readOnly = await createMetadataClient(platform, ["read"]);
});
afterAll(() => platform.server.stop());

const svc = (words: readonly string[], options: Parameters<typeof runCommand>[2] = {}): Promise<Outcome> =>
  runCommand("secret", words, { home: platform.home, env: platform.env, ...options });
const names = async () => ((await svc(["list", "--json"])).json() as { secrets: { name: string }[] }).secrets.map(({ name }) => name);

describe("secrets", () => {
  test("are set by pairs, by a name with stdin, and by KEY=VALUE lines; listed masked, shown by --decrypt", async () => {
    expect((await svc(["list"])).stderr).toContain("No secrets found.");
    const pair = await svc(["set", "API_KEY=abc=defghijklmnop", "SHORT=pin1"]);
    expect([pair.exitCode, pair.stdout, pair.stderr]).toEqual([0, "Set API_KEY.\nSet SHORT.\n", ""]);
    expect((await svc(["set", "PEM"], { input: ["-----BEGIN", "line two", "-----END", ""] })).stdout).toBe("Set PEM.\n");
    expect((await svc(["set"], { input: ["# comment", "", "LINE_A=1=2", "LINE_B= spaced "] })).stdout).toBe("Set LINE_A.\nSet LINE_B.\n");
    const listed = await svc(["list"]);
    expect(listed.stdout).toMatch(/^Name +Value +Integration +Updated\n/);
    expect(listed.stdout).toMatch(/^API_KEY +\*{8}mnop /m);
    expect(listed.stdout).toMatch(/^SHORT +\*{8} /m);
    const shown = (await svc(["list", "--decrypt", "--json"])).json() as { secrets: { name: string; value: string }[] };
    expect(Object.fromEntries(shown.secrets.map(({ name, value }) => [name, value]))).toEqual({
      API_KEY: "abc=defghijklmnop",
      SHORT: "pin1",
      PEM: "-----BEGIN\nline two\n-----END",
      LINE_A: "1=2",
      LINE_B: " spaced ",
    });
    expect((await svc(["get", "--name", "API_KEY", "--json"])).json()).toMatchObject({
      name: "API_KEY",
      value: "********mnop",
      integration: null,
    });
    expect((await svc(["get", "--name", "API_KEY", "--decrypt"])).stdout).toContain("abc=defghijklmnop");
  });

  test("are overwritten and deleted; a delete of several with one unknown deletes none", async () => {
    await svc(["set", "ONE=1", "TWO=2"]);
    const wrong = await svc(["delete", "ONE", "NONE", "--yes"]);
    expect([wrong.exitCode, await names()]).toEqual([1, expect.arrayContaining(["ONE", "TWO"])]);
    const no = await svc(["delete", "ONE"], { input: ["n"] });
    expect([no.exitCode, no.stderr]).toEqual([1, expect.stringContaining("Delete the secret ONE?")]);
    expect((await svc(["delete", "ONE", "--name", "TWO", "--yes"])).stdout).toBe("Deleted ONE.\nDeleted TWO.\n");
    expect(await names()).not.toContain("ONE");
  });

  test.each([
    [["set", "1BAD=x"], "'1BAD' is no name of an environment variable"],
    [["set", "LD_PRELOAD=/x.so"], "'LD_PRELOAD' is reserved"],
    [["set", "SVC_SERVER_KEY=x"], "is reserved"],
    [["set", "PYTHONSTARTUP=x"], "is reserved"],
    [["set", "A", "B"], "one stdin has the value of one name"],
    [["set", "A="], "has an empty value"],
    [["set", "A=1", "A=2"], "is given twice"],
    [["set"], "nothing to set"],
    [["get"], "--name is required"],
    [["delete"], "--name is required"],
  ])("%j is refused", async (words, message) => {
    const before = await names();
    const said = await svc(words);
    expect([said.exitCode, said.stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(await names()).toEqual(before);
  });

  test("a value longer than an environment variable should be is refused", async () => {
    const said = await svc(["set", `A=${"x".repeat(40_000)}`]);
    expect([said.exitCode, said.stderr]).toEqual([2, expect.stringContaining("and 32768 are the most")]);
  });

  test("a line of stdin without = is named by its number alone", async () => {
    const said = await svc(["set"], { input: ["A=1", "hunter2-of-a-value"] });
    expect([said.exitCode, said.stderr]).toEqual([2, expect.stringContaining("line 2 of stdin is no KEY=VALUE")]);
    expect(said.stderr).not.toContain("hunter2");
  });

  test("pairs are warned of on a terminal, and nowhere else", async () => {
    expect((await svc(["set", "WARNED=1"], { terminal: true })).stderr).toContain("history of the shell");
    expect((await svc(["set", "WARNED=1"])).stderr).toBe("");
  });

  test("whoever may only read sees them masked, and can neither reveal, set nor delete them", async () => {
    await svc(["set", "GUARDED=guarded-value-of-a-secret"]);
    expect((await svc(["list"], { env: readOnly })).stdout).toMatch(/^GUARDED +\*{8}cret/m);
    for (const words of [
      ["list", "--decrypt"],
      ["get", "--name", "GUARDED", "--decrypt"],
      ["set", "X=1"],
      ["delete", "GUARDED", "--yes"],
    ]) {
      const refused = await svc(words, { env: readOnly });
      expect([words[0], refused.exitCode, refused.stdout]).toEqual([words[0], 1, ""]);
      expect(refused.stderr).toMatch(/permission 'secrets\.(read|write)'/);
      expect(refused.stderr).not.toContain("guarded-value");
    }
    expect(await names()).toContain("GUARDED");
  });

  test("an environment takes no more than it can hand to a process", async () => {
    const lines = (from: number) => Array.from({ length: 7 }, (_, index) => `BIG_${from + index}=${"y".repeat(30_000)}`);
    expect((await svc(["set"], { input: lines(0) })).exitCode).toBe(0);
    const full = await svc(["set"], { input: lines(10) });
    expect([full.exitCode, full.stderr]).toEqual([1, expect.stringContaining("262144 are the most")]);
    expect(await names()).not.toContain("BIG_10");
    await svc(["delete", "--yes", ...Array.from({ length: 7 }, (_, index) => `BIG_${index}`)]);
  });

  test("belong to one environment: another has its own of the same name", async () => {
    await svc(["set", "SHARED_NAME=of-the-first-one"]);
    const there = ["--environment", "other"];
    expect((await svc(["get", "--name", "SHARED_NAME", ...there])).exitCode).toBe(1);
    await svc(["set", "SHARED_NAME=of-the-other-one", ...there]);
    expect((await svc(["get", "--name", "SHARED_NAME", "--decrypt"])).stdout).toContain("of-the-first-one");
    expect((await svc(["list", "--decrypt", ...there])).stdout).toContain("of-the-other-one");
    await svc(["delete", "SHARED_NAME", "--yes", ...there]);
    expect(await names()).toContain("SHARED_NAME");
  });

  test("60 clients that set different names at once lose none", async () => {
    const done = await Promise.all(Array.from({ length: 60 }, (_, index) => svc(["set", `AT_ONCE_${index}=${index}`])));
    expect(done.map(({ exitCode }) => exitCode)).toEqual(Array.from({ length: 60 }, () => 0));
    expect((await names()).filter((name) => name.startsWith("AT_ONCE_")).length).toBe(60);
  }, 300_000);
});
