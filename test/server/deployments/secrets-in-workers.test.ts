/** Secrets and integrations reach the workers and sources of what runs. */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { SecretService } from "../../../gen/svc/v1/secret_pb.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { Cluster, until } from "../nodes/two-nodes.ts";
import { deploy, expectLive, type ProjectFiles } from "./deploying.ts";

const READS_SECRET: ProjectFiles = {
  "features.py": `from svc.features import features, feature

@features
class User:
    id: int
    key: str = feature(max_staleness="0s")
    key_length: int = feature(max_staleness="0s")
    absent: str = feature(max_staleness="0s")
`,
  "resolvers.py": `import os
from svc import online
from features import User

if "BREAKS_THE_IMPORT" in os.environ:
    raise ValueError("cannot start with " + os.environ["THE_KEY"])

@online
def key(id: User.id) -> User.key:
    return os.environ["THE_KEY"] + " " + os.environ["SVC_DEPLOYMENT_ID"][:4]

@online
def key_length(id: User.id) -> User.key_length:
    return len(os.environ["THE_KEY"])

@online
def absent(id: User.id) -> User.absent:
    print("the key is", os.environ.get("THE_KEY"))
    return os.environ["NOT_THERE"]
`,
};

interface Answer {
  readonly data?: { readonly field: string; readonly value: unknown; readonly error?: { readonly message: string } }[];
  readonly errors?: { readonly message: string }[];
}

async function ask(server: TestServer, output = "user.key"): Promise<string> {
  const response = await fetch(`${server.url}/v1/query/online`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${await server.token()}` },
    body: JSON.stringify({ inputs: { "user.id": 1 }, outputs: [output] }),
  });
  const text = await response.text();
  const body = JSON.parse(text) as Answer;
  return String(body.data?.[0]?.value ?? text);
}

const set = (server: TestServer, value: string) => server.client(SecretService).setSecrets({ secrets: [{ name: "THE_KEY", value }] });

describe("secrets in workers", () => {
  const folder = new TempFolder();
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(folder.path, {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, THE_KEY: "of-the-server", SVC_WORKER_ENV: "THE_KEY" },
    });
    expectLive(await deploy(server, READS_SECRET));
  }, 300_000);
  afterAll(async () => {
    await server.server.stop();
    folder[Symbol.dispose]();
  });

  test("the server's environment is handed on until a secret of that name wins; deleting it gives it back", async () => {
    expect(await ask(server)).toBe("of-the-server dpl_");
    await set(server, "of-the-secret");
    await until(
      () => ask(server),
      (said) => said === "of-the-secret dpl_",
    );
    await server.client(SecretService).deleteSecrets({ names: ["THE_KEY"] });
    await until(
      () => ask(server),
      (said) => said === "of-the-server dpl_",
    );
  }, 300_000);

  test("new values reach workers without a failed query", async () => {
    let isOver = false;
    const seen = new Set<string>();
    let asked = 0;
    const loop = async (): Promise<void> => {
      while (!isOver) {
        asked++;
        seen.add(await ask(server));
      }
    };
    const loops = Promise.all([loop(), loop(), loop()]);
    const values = ["rotated-1", "rotated-2", "rotated-3"];
    for (const value of values) {
      await set(server, value);
      await until(
        () => ask(server),
        (said) => said === `${value} dpl_`,
      );
    }
    isOver = true;
    await loops;
    expect(asked).toBeGreaterThan(10);
    const right = ["of-the-server", ...values].map((value) => `${value} dpl_`);
    expect([...seen].filter((said) => !right.includes(said))).toEqual([]);
    expect(seen.has("rotated-3 dpl_") || seen.has("rotated-2 dpl_")).toBe(true);
  }, 300_000);

  test("workers that do not start with new values are not taken: those before answer on", async () => {
    const secrets = server.client(SecretService);
    await set(server, "value-before-the-break");
    await until(
      () => ask(server),
      (said) => said === "value-before-the-break dpl_",
    );
    await secrets.setSecrets({ secrets: [{ name: "BREAKS_THE_IMPORT", value: "1" }] });
    const failures = () => server.log.filter(({ message }) => String(message).startsWith("workers were not renewed"));
    await until(
      async () => failures().length,
      (count) => count > 0,
    );
    expect(await ask(server)).toBe("value-before-the-break dpl_");
    expect(JSON.stringify(server.log)).not.toContain("value-before-the-break");
    await secrets.deleteSecrets({ names: ["BREAKS_THE_IMPORT"] });
    await set(server, "value-after-the-break");
    await until(
      () => ask(server),
      (said) => said === "value-after-the-break dpl_",
    );
  }, 300_000);

  test("a missing secret is an error of the resolver that names it", async () => {
    expect(await ask(server, "user.absent")).toMatch(/NOT_THERE.*svc secret set NOT_THERE/);
  });

  test("no value is in the server's log, in what is stored, or in what a process was started with", async () => {
    const canary = "canary-value-of-a-secret-81c2";
    await set(server, canary);
    await until(
      () => ask(server, "user.key_length"),
      (said) => said === String(canary.length),
    );
    await ask(server, "user.absent");
    const argv = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, "utf8");
        } catch {
          return "";
        }
      });
    expect(argv.filter((line) => line.includes(canary))).toEqual([]);
    await server.server.stop();
    const forms = formsOf(canary);
    const logged = JSON.stringify(server.log);
    expect(forms.filter((form) => logged.includes(form))).toEqual([]);
    expect(logged).not.toContain("THE_KEY");
    const files = readdirSync(join(folder.path, "data"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    expect(files.some((path) => path.endsWith("meta.db"))).toBe(true);
    for (const path of files) {
      if (statSync(path).size > 50_000_000) continue;
      const text = readFileSync(path, "latin1");
      expect([path, forms.filter((form) => text.includes(form))]).toEqual([path, []]);
    }
    const db = new Database(join(folder.path, "data/meta.db"), { readonly: true });
    expect(db.query("select count(*) as n from document where kind = 'secret'").get()).toEqual({ n: 1 });
    db.close();
    server = await TestServer.start(folder.path, {
      credentials: server.credentials,
      env: { PATH: process.env.PATH, HOME: process.env.HOME },
    });
    expect(await ask(server)).toBe(`${canary} dpl_`);
  }, 300_000);
});

/** The forms in which a text could be found. */
function formsOf(text: string): string[] {
  const base64 = Buffer.from(text).toString("base64").replace(/=+$/, "");
  return [text, base64, Buffer.from(text).toString("base64url"), encodeURIComponent(text), JSON.stringify(text).slice(1, -1)];
}

test("a secret that is set on one node reaches the workers of the other", async () => {
  await using cluster = new Cluster();
  const [a, b] = [await cluster.start("a"), await cluster.start("b")];
  await set(a, "first");
  expectLive(await deploy(a, READS_SECRET));
  await until(
    () => ask(b),
    (said) => said === "first dpl_",
  );
  await set(a, "second");
  for (const node of [a, b])
    await until(
      () => ask(node),
      (said) => said === "second dpl_",
    );
}, 300_000);

describe("keys", () => {
  const key = (fill: number) => new Uint8Array(32).fill(fill).toBase64();
  const env = (keys: string) => ({ PATH: process.env.PATH, HOME: process.env.HOME, SVC_SERVER_KEY: keys });
  const reveal = async (server: TestServer) => (await server.client(SecretService).revealSecrets({})).secrets.map(({ value }) => value);

  test("a new first key seals all anew, so that the old one can be removed; without it a secret says what to do", async () => {
    using folder = new TempFolder();
    const first = await TestServer.start(folder.path, { env: env(key(1)) });
    const { credentials } = first;
    await set(first, "kept-over-rotation");
    await first.server.stop();

    const both = await TestServer.start(folder.path, { credentials, env: env(`${key(2)},${key(1)}`) });
    await both.server.ready;
    await until(
      async () => both.log.map(({ message }) => message),
      (messages) => messages.includes("no stored secret needs an older key any more"),
    );
    await both.server.stop();

    const second = await TestServer.start(folder.path, { credentials, env: env(key(2)) });
    await second.server.ready;
    expect(await reveal(second)).toEqual(["kept-over-rotation"]);
    await second.server.stop();

    const stranger = await TestServer.start(folder.path, { credentials, env: env(key(3)) });
    await stranger.server.ready;
    const [shown] = (await stranger.client(SecretService).listSecrets({})).secrets;
    expect([shown?.name, shown?.value, shown?.problem]).toEqual([
      "THE_KEY",
      "",
      expect.stringContaining("Start the server with the keys it had"),
    ]);
    await stranger.client(SecretService).setSecrets({ secrets: [{ name: "ANOTHER", value: "works" }] });
    expect((await reveal(stranger)).sort()).toEqual(["", "works"]);
    await stranger.server.stop();
  }, 300_000);
});
