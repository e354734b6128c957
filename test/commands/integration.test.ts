import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../client/test-context.ts";
import { createMetadataClient } from "./metadata-beside.ts";
import { type Outcome, type Platform, runCommand, startPlatform } from "./platform.ts";

let platform: Platform;
let readOnly: Record<string, string>;
let called = 0;
let fake: Bun.Server<undefined>;
beforeAll(async () => {
  platform = await startPlatform();
  readOnly = await createMetadataClient(platform, ["read", "secrets.read"]);
  fake = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch({ headers }) {
      called++;
      return headers.get("authorization") === "Bearer sk-a-key-of-a-fake" ? Response.json({ data: [] }) : new Response("", { status: 401 });
    },
  });
});
afterAll(async () => {
  await platform.server.stop();
  fake.stop(true);
});

const run = (command: string, words: readonly string[], options: Parameters<typeof runCommand>[2] = {}): Promise<Outcome> =>
  runCommand(command, words, { home: platform.home, env: platform.env, ...options });
const svc = (words: readonly string[], options: Parameters<typeof runCommand>[2] = {}) => run("integration", words, options);
const folder = tempFolder();
function file(text: string): string {
  const path = join(folder, `${crypto.randomUUID()}.yaml`);
  writeFileSync(path, text);
  return path;
}
const PG =
  "name: my-pg\nkind: postgresql\nenvironment_variables:\n  PGHOST: db.example.com\n  PGPORT: 5433\n  PGPASSWORD: the-password-of-pg\n";

describe("integrations", () => {
  test("are applied from a file, listed masked with the names that resolvers read, shown, changed and deleted", async () => {
    expect((await svc(["list"])).stderr).toContain("No integrations found.");
    const made = await svc(["apply", "--file", file(PG)]);
    expect([made.exitCode, made.stdout]).toEqual([0, expect.stringMatching(/^Created the integration my-pg \(postgresql, int_\w+\)\.\n$/)]);
    const listed = await svc(["list"]);
    expect(listed.stdout).toMatch(/^Name +Kind +Secrets +Updated\nmy-pg +postgresql +MY_PG_PGHOST, MY_PG_PGPASSWORD, MY_PG_PGPORT /);
    expect((await svc(["get", "--name", "my-pg", "--json"])).json()).toMatchObject({
      name: "my-pg",
      kind: "postgresql",
      environment_variables: { PGHOST: "********.com", PGPORT: "********", PGPASSWORD: "********f-pg" },
      secrets: ["MY_PG_PGHOST", "MY_PG_PGPASSWORD", "MY_PG_PGPORT"],
    });
    const shown = (await svc(["get", "--name", "my-pg", "--decrypt", "--json"])).json();
    expect(shown).toMatchObject({ environment_variables: { PGHOST: "db.example.com", PGPORT: "5433", PGPASSWORD: "the-password-of-pg" } });
    expect((await svc(["list", "--decrypt"])).stdout).toContain("PGPASSWORD=the-password-of-pg");
    expect((await run("secret", ["get", "--name", "MY_PG_PGPASSWORD", "--json"])).json()).toMatchObject({
      integration: "my-pg",
      value: "********f-pg",
    });
    const kept = await run("secret", ["delete", "MY_PG_PGPASSWORD", "--yes"]);
    expect([kept.exitCode, kept.stderr]).toEqual([1, expect.stringContaining("integration 'my-pg'")]);

    const changed = await svc(["apply", "-f", "-"], {
      input: ["name: my-pg", "kind: postgresql", "environment_variables: {PGHOST: b.example}"],
    });
    expect(changed.stdout).toStartWith("Updated the integration my-pg");
    expect((await svc(["get", "--name", "my-pg", "--decrypt", "--json"])).json()).toMatchObject({
      environment_variables: { PGHOST: "b.example" },
    });

    const asked = await svc(["delete", "my-pg"], { input: ["n"] });
    expect([asked.exitCode, asked.stderr]).toEqual([1, expect.stringContaining("Resolvers lose MY_PG_PGHOST.")]);
    expect((await svc(["delete", "my-pg", "none", "--yes"])).exitCode).toBe(1);
    expect((await svc(["delete", "--name", "my-pg", "--yes"])).stdout).toStartWith("Deleted the integration my-pg (int_");
    expect(((await svc(["list", "--json"])).json() as { integrations: unknown[] }).integrations).toEqual([]);
  });

  test("are inserted with variables from stdin, once", async () => {
    const words = ["insert", "--name", "chat", "--kind", "openai"];
    const input = ["OPENAI_API_KEY=sk-a-key-of-a-fake", `OPENAI_BASE_URL=http://127.0.0.1:${fake.port}`];
    expect((await svc(words, { input })).stdout).toStartWith("Created the integration chat (openai, int_");
    const again = await svc(words, { input });
    expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining("There is an integration 'chat' already")]);
  });

  test.each([
    [["insert", "--kind", "openai"], [], 2, "--name is required"],
    [["insert", "--name", "x"], [], 2, "--kind is required"],
    [["insert", "--name", "x", "--kind", "oracle"], [], 2, "oracle"],
    [["insert", "--name", "x", "--kind", "openai"], [], 1, "OPENAI_API_KEY (API key) is required for openai."],
    [
      ["insert", "--name", "x", "--kind", "openai"],
      ["OPENAI_API_KEI=a"],
      1,
      "OPENAI_API_KEI is no variable of openai; did you mean 'OPENAI_API_KEY'?",
    ],
    [
      ["insert", "--name", "x", "--kind", "mysql"],
      ["MYSQL_HOST=a", "MYSQL_PORT=99999", "MYSQL_DATABASE=d"],
      1,
      "MYSQL_PORT is no port number",
    ],
    [["insert", "--name", "a b", "--kind", "openai"], ["OPENAI_API_KEY=a"], 1, "The name of an integration has letters"],
    [["get", "--name", "chatt"], [], 1, "did you mean 'chat'?"],
    [["test"], [], 2, "--name is required"],
    [["delete"], [], 2, "--name is required"],
  ] as const)("%j with %j is refused", async (words, input, exitCode, message) => {
    const said = await svc(words, { input });
    expect([said.exitCode, said.stderr]).toEqual([exitCode, expect.stringContaining(message)]);
  });

  test.each([
    ["kind: openai\n", "has no name, which is required"],
    ["name: x\n", "has no kind, which is required"],
    ["name: x\nkind: openai\nvariables: {}\n", "has the key 'variables'"],
    ["name: x\nkind: openai\nenvironment_variables: {OPENAI_API_KEY: [1]}\n", "has a value of OPENAI_API_KEY that is no text"],
    ["name: x\nkind: gcp\nenvironment_variables: {GOOGLE_CREDENTIALS: '{}'}\n", "GOOGLE_CREDENTIALS is no key of a service account"],
    ["name: x\nkind: kafka\nenvironment_variables: {KAFKA_BOOTSTRAP_SERVERS: a}\n", "KAFKA_BOOTSTRAP_SERVERS is no list of host:port"],
    [
      "name: x\nkind: openai\nenvironment_variables: {OPENAI_API_KEY: a, OPENAI_BASE_URL: 'file:///etc/passwd'}\n",
      "OPENAI_BASE_URL is no http://",
    ],
  ])("a file %j is refused", async (text, message) => {
    const said = await svc(["apply", "--file", file(text)]);
    expect([said.exitCode, said.stderr]).toEqual([1, expect.stringContaining(message)]);
  });

  test("names whose variables would have the same names are refused", async () => {
    const said = await svc(["insert", "--name", "CHAT", "--kind", "cohere"], { input: ["COHERE_API_KEY=a"] });
    expect([said.exitCode, said.stderr]).toEqual([1, expect.stringContaining("would have the same names")]);
  });

  test("are tested by the server, and by nobody who may only read", async () => {
    const before = called;
    const refused = await svc(["test", "chat"], { env: readOnly });
    expect([refused.exitCode, refused.stderr, called]).toEqual([1, expect.stringContaining("'secrets.write'"), before]);
    const ok = await svc(["test", "chat", "--json"]);
    expect([ok.exitCode, ok.json()]).toEqual([
      0,
      { name: "chat", kind: "openai", status: "ok", message: `127.0.0.1:${fake.port} lists 0 models` },
    ]);
    await svc(["apply", "-f", "-"], {
      input: [
        "name: chat",
        "kind: openai",
        "environment_variables:",
        "  OPENAI_API_KEY: wrong",
        `  OPENAI_BASE_URL: http://127.0.0.1:${fake.port}`,
      ],
    });
    const failed = await svc(["test", "--name", "chat"]);
    expect([failed.exitCode, failed.stdout]).toEqual([1, expect.stringMatching(/Status: +failed\nMessage: +127.0.0.1:\d+ answered 401/)]);
  });

  test("values and names are in no verbose output", async () => {
    const canary = "canary-81c2/of+an=integration";
    const forms = [
      canary,
      Buffer.from(canary).toString("base64").replace(/=+$/, ""),
      encodeURIComponent(canary),
      "OPENAI_API_KEY",
      "CANARY_NAME",
    ];
    const said = [
      await svc(["insert", "--name", "canary", "--kind", "openai", "-vv"], { input: [`OPENAI_API_KEY=${canary}`] }),
      await svc(["list", "-vv"]),
      await svc(["get", "--name", "canary", "--decrypt", "-vv"]),
      await svc(["list", "--decrypt", "-vv"]),
      await run("secret", ["set", "CANARY_NAME", "-vv"], { input: [canary] }),
      await run("secret", ["list", "--decrypt", "-vv"]),
      await run("secret", ["get", "--name", "CANARY_NAME", "--decrypt", "-vv"]),
      await run("secret", ["delete", "CANARY_NAME", "--yes", "-vv"]),
      await svc(["delete", "canary", "--yes", "-vv"]),
    ];
    expect(said.map(({ exitCode }) => exitCode)).toEqual(said.map(() => 0));
    expect(said[0]?.stderr).toContain("ApplyIntegration");
    for (const [index, { stderr }] of said.entries()) expect([index, forms.filter((form) => stderr.includes(form))]).toEqual([index, []]);
  });
});
