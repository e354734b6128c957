/**
 * What becomes of stdout on the binary: readers that are slow or go away, disks that are full, a
 * stdout that is closed.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ListFeaturesResponseSchema } from "../../gen/svc/v1/graph_pb.ts";
import { QueryResponseSchema } from "../../gen/svc/v1/query_pb.ts";
import { type FakeServer, fakeServer, protoAnswer } from "../client/fake-server.ts";
import { lacksNamespaces } from "../harness/needs.ts";
import { Sandbox } from "../harness/sandbox.ts";

const ROWS = 200_000;
const KINDS = ["a table", "a JSON document", "JSON lines"] as const;
/** Around what a pipe holds, and far beyond it. */
const SIZES = [65_535, 65_536, 65_537, 1_000_000, 20_000_000];

let sandbox: Sandbox;
let server: FakeServer;
/** Characters of the one value that a query answers. */
let valueLength = 0;

beforeAll(() => {
  sandbox = new Sandbox();
  server = fakeServer({
    call: (request) =>
      request.url.endsWith("/Query")
        ? protoAnswer(QueryResponseSchema, {
            data: [{ field: "user.note", value: { kind: { case: "stringValue", value: "x".repeat(valueLength) } } }],
          })
        : protoAnswer(ListFeaturesResponseSchema, {
            features: Array.from({ length: ROWS }, (_, at) => ({ feature: { fqn: `user.feature_${String(at).padStart(9, "0")}` } })),
          }),
  });
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
  await server.stop();
});

/**
 * Runs a script of bash in which `svc` is the binary. The server of the tests answers meanwhile.
 */
async function shell(script: string): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const child = Bun.spawn(["bash", "-c", `svc() { '${sandbox.binary}' "$@"; }\n${script}`], {
    cwd: sandbox.work,
    env: { ...sandbox.env, SVC_API_SERVER: server.url, SVC_ACCESS_TOKEN: "token" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: 300_000,
    killSignal: "SIGKILL",
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { exitCode: await child.exited, stdout, stderr };
}

/** A command whose output has exactly so many bytes. */
async function commandOf(kind: (typeof KINDS)[number], size: number): Promise<string> {
  if (kind === "JSON lines") {
    const folder = join(sandbox.work, `log-${size}`);
    const line = JSON.stringify({ level: "info", message: "y".repeat(960) });
    const lines = Math.floor(size / 1000) - 1;
    const write = (missing: number) =>
      Bun.write(join(folder, "server.log"), `${line}\n`.repeat(lines) + `${JSON.stringify({ message: "z".repeat(missing) })}\n`);
    await write(0);
    return grown(`svc server logs --data-dir ${folder} --lines 1000000 --json`, size, write);
  }
  const command = `svc query --in user.id=1 --out user.note${kind === "a table" ? "" : " --json"}`;
  valueLength = size - 1000;
  return grown(command, size, async (missing) => {
    valueLength += missing;
  });
}

/** Lets the output grow until it has the size. */
async function grown(command: string, size: number, grow: (missing: number) => Promise<unknown>): Promise<string> {
  const { stdout } = await shell(`${command} > out; stat -c %s out`);
  await grow(size - Number(stdout));
  return command;
}

describe("a reader that sleeps first gets every byte", () => {
  for (const kind of KINDS) {
    for (const size of SIZES) {
      test(`${kind} of ${size} bytes`, async () => {
        const command = await commandOf(kind, size);
        const toFile = await shell(`${command} > out; echo $?; stat -c %s out; sha256sum < out`);
        const [exitCode, written, sum] = toFile.stdout.split("\n");
        expect([exitCode, written, toFile.stderr]).toEqual(["0", String(size), ""]);
        const toPipe = await shell(`${command} | (sleep 0.5; sha256sum); echo \${PIPESTATUS[0]}`);
        expect(toPipe).toEqual({ exitCode: 0, stdout: `${sum}\n0\n`, stderr: "" });
      });
    }
  }
});

test("a list of 200,000 rows is whole", async () => {
  const { stdout } = await shell("svc features list | (sleep 0.5; sort -u | wc -l)");
  expect(stdout.trim()).toBe(String(ROWS));
});

test("--jq and --template are given all of a large answer", async () => {
  valueLength = 1_000_000;
  expect((await shell("svc query --in user.id=1 --out user.note --jq '..|strings|select(length > 1000)' | wc -c")).stdout).toBe(
    "1000001\n",
  );
  const last = `user.feature_${String(ROWS - 1).padStart(9, "0")}`;
  expect((await shell("svc features list --template '{{#features}}{{fqn}}\\n{{/features}}' | tail -1")).stdout).toBe(`${last}\n`);
});

test("Ctrl-C ends a filter that does not", async () => {
  const { stdout } = await shell(
    "setsid timeout --signal=INT 2 svc version --jq 'def f: f; f' > out 2>&1; echo $?".replace("svc", sandbox.binary),
  );
  expect(stdout).toBe("124\n");
});

describe("a reader that goes away ends the command quietly", () => {
  const cases: [name: string, command: string][] = [
    ["a list of 200,000 rows", "svc features list"],
    ["the same as JSON", "svc features list --json"],
    ["a query that is repeated", "svc query --in user.id=1 --out user.note --repeat 10ms"],
    ["the same as JSON lines", "svc query --in user.id=1 --out user.note --repeat 10ms --json"],
  ];
  for (const [name, command] of cases) {
    test(name, async () => {
      valueLength = 10;
      const { stdout, stderr } = await shell(`${command} | head -1 > first; echo "\${PIPESTATUS[0]} $(wc -l < first)"`);
      expect([stdout, stderr]).toEqual([expect.stringMatching(/^(0|141) 1\n$/), ""]);
    });
  }
});

describe("output that is lost is a failure", () => {
  const full = "Error: cannot write to stdout: no space left on the device\n";
  const commands = ["svc version", "svc help", "svc --version", "svc features list", "svc features list --json"];
  for (const command of [...commands, "svc query --in user.id=1 --out user.note --repeat 10ms --json"]) {
    test(`${command} > /dev/full`, async () => {
      const { exitCode, stderr } = await shell(`${command} > /dev/full`);
      expect(exitCode).toBe(1);
      expect(stderr).toContain("cannot write to stdout: no space left on the device");
      expect(stderr.trim().split("\n")).toHaveLength(1);
    });
    test(`${command} >&-`, async () => {
      const { exitCode, stderr } = await shell(`${command} >&-`);
      expect(exitCode).toBe(1);
      expect(stderr).toContain("cannot write to stdout: it is closed");
      expect(stderr.trim().split("\n")).toHaveLength(1);
    });
  }

  test.skipIf(lacksNamespaces("-rm"))("a file system with room for the first part only", async () => {
    const disk = join(sandbox.work, "disk");
    mkdirSync(disk);
    const script = `mount -t tmpfs -o size=1m none ${disk} && { svc features list > ${disk}/out; echo "$? $(stat -c %s ${disk}/out)"; }`;
    const inside = `export -f svc; unshare -m bash -c '${script.replaceAll("'", `'\\''`)}'`;
    const { stdout, stderr } = await shell(process.getuid?.() === 0 ? inside : inside.replace("unshare -m", "unshare -rm"));
    const [exitCode, written] = stdout.trim().split(" ").map(Number);
    expect([exitCode, stderr]).toEqual([1, full]);
    expect(written).toBeGreaterThan(0);
    expect(written).toBeLessThanOrEqual(1024 * 1024);
  });

  test("the null device takes everything, however it was opened", async () => {
    const opened = "exec 3<>/dev/null; svc features list >&3; echo $?; svc features list > /dev/null; echo $?";
    expect(await shell(opened)).toEqual({ exitCode: 0, stdout: "0\n0\n", stderr: "" });
  });
});
