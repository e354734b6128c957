/**
 * Secrets that every command is given, by flag, variable, config file and answer: none comes out
 * again, and what was given in argv is warned of.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CreateLoginSessionResponseSchema, GetLoginSessionResponseSchema, LoginSessionStatus } from "../../gen/svc/v1/auth_pb.ts";
import type { TreeEntry } from "../../src/cli/command.ts";
import { commandTree } from "../../src/commands/index.ts";
import { type FakeServer, fakeServer, protoAnswer, tokenAnswer } from "../client/fake-server.ts";
import { type Outcome, Sandbox } from "../harness/sandbox.ts";

/** Told apart by their source; with what changes when it is quoted. */
const GIVEN = { flag: 'c4nary-by-flag-"/+=é', env: 'c4nary-by-env-"/+=é', config: 'c4nary-by-config-"/+=é' } as const;
const ANSWERED = {
  token: "eyJhbGciOiJFZERTQSJ9.c4nary-token-of-the-answer.c4nary-signature-of-the-answer",
  login: "c4nary-secret-of-a-login-session",
  session: "c4nary-secret-of-the-session-itself",
  bearer: "c4nary-access-token-from-a-flag",
} as const;

/** Words of the commands that need some. A command that is not named runs without any. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  apply: ["--force", "--await"],
  "branch source": ["--branch=try", "--output-dir", "branch-source-out"],
  source: ["--output-dir", "source-out"],
  diff: ["try"],
  delete: ["--features", "user.name", "--keys", "1", "--yes"],
  query: ["--in", "user.id=1", "--out", "user.name"],
  features: ["--out", "features-out.json"],
  "features search": ["user"],
  "features resolve": ["--fqns", "user.name"],
  project: ["--edit"],
  "infra apply metrics": ["--storage", "1Gi"],
  "metrics query": ["sum:query.count"],
  "charts evaluate": ["{}"],
  "charts create": ["--name", "queries", "--expression", "sum:query.count"],
  "charts delete": ["no-such", "--yes"],
  "features show": ["user.name"],
  "resolvers show": ["get_name"],
  "monitors test": ["no-such"],
  "monitors silence": ["no-such", "--for", "1h"],
  "queries get": ["0"],
  "queries meta get": ["0"],
  "queries plan get": ["0"],
  "trace get": ["--operation-id", "0"],
  "trace spans get": ["00f067aa0ba902b7"],
  "infra apply persistence": ["--file", "component.yaml"],
  "infra apply gateway": ["--file", "component.yaml"],
  "infra apply kafka-topics": ["--file", "topics.yaml"],
  "infra apply telemetry": ["--file", "component.yaml"],
  "environment create": ["staging"],
  "environment patch": ["--resource-group", "default", "--patch", '{"a": 1}', "--yes"],
  "environment update": ["--config-file", "environment.yaml", "--yes"],
  "environment delete": ["no-such", "--yes"],
  "project create": ["canary"],
  trigger: ["--resolver", "no-such"],
  "task run": ["work.py"],
  "container run": ["--image", "no-such"],
  "container get": ["--id", "no-such"],
  "container stop": ["--id", "no-such", "--yes"],
  "sandbox create": ["--image", "no-such"],
  "sandbox copy": ["no-such:/file", "no-such"],
  "sandbox get": ["--id", "no-such"],
  "sandbox exec": ["no-such"],
  "sandbox terminate": ["--id", "no-such", "--yes"],
  "scaling-group create": ["--image", "no-such"],
  "scaling-group get": ["--id", "no-such"],
  "scaling-group delete": ["--id", "no-such", "--yes"],
  "volume create": ["--name", "canary"],
  "volume get": ["--name", "no-such"],
  "volume delete": ["--name", "no-such", "--yes"],
  "task get": ["st-0"],
  "task cancel": ["st-0"],
  "task rerun": ["st-0"],
  "task profile": ["st-0"],
  "scheduled-resolver runs get": ["job_0"],
  "scheduled-resolver pause": ["no-such"],
  "scheduled-resolver resume": ["no-such"],
  "scheduled-query pause": ["no-such"],
  "scheduled-query resume": ["no-such"],
  "traffic set": ["--tags", "v0=100"],
  "traffic mirror": ["--mirror", "v0=1"],
  "traffic suspend": ["--deployment-tag", "v0"],
  "deployment get": ["dpl_0"],
  "deployment promote": ["dpl_0"],
  "deployment delete": ["dpl_0", "--yes"],
  "branch delete": ["no-such", "--yes"],
  "flare download": ["--id", "flr_0"],
  completion: ["bash"],
  logout: ["--list"],
  help: ["apply"],
  "offline-store table": ["user.name"],
  "webhook create": ["--name", "ops", "--url", "https://example.com/hook", "--subscriptions", "query.run"],
  "webhook update": ["--id", "ops", "--name", "ops2"],
  "webhook delete": ["--id", "ops", "--yes"],
  "webhook test": ["no-such"],
  "webhook deliveries get": ["job_1"],
  "webhook deliveries redeliver": ["job_1"],
  "secret set": ["A_NAME=a-value"],
  "secret get": ["--name", "A_NAME", "--decrypt"],
  "secret delete": ["A_NAME", "--yes"],
  "integration apply": ["--file", "integration.yaml"],
  "integration get": ["--name", "chat", "--decrypt"],
  "integration test": ["chat"],
  "integration delete": ["chat", "--yes"],
  "clusters describe": ["clstr_local"],
  "clusters test": ["clstr_local"],
  "offline-store connection update": ["osc_none", "--file", "svc.yaml"],
  "offline-store connection delete": ["osc_none", "--force"],
  "offline-store connection activate": ["osc_none"],
  "server start": ["--detach", "--port", "0", "--data-dir", "other-data"],
  "server status": ["--data-dir", "other-data"],
  "server stop": ["--data-dir", "other-data"],
  "server logs": ["--data-dir", "other-data"],
  "approval get": ["apr_0"],
  "approval approve": ["apr_0"],
  "approval reject": ["apr_0"],
  "approval withdraw": ["apr_0"],
  "jobs get": ["1"],
  "jobs set-priority": ["1", "10"],
  "eval compare": ["run_0", "run_1"],
  "compute get": ["--name", "none"],
  "compute call": ["--name", "none", "--output-file", "none.arrow"],
  "imgbuild get": ["none"],
  "imgbuild watch": ["none"],
  "topic push": ["--topic", "no-such", "--value", "{}"],
  "aggregate backfill": ["--feature", "user.name"],
  "streams get": ["no-such"],
  "streams dead-letters list": ["no-such"],
  "streams dead-letters replay": ["no-such"],
  "streams pause": ["no-such"],
  "streams resume": ["no-such"],
  "streams seek": ["no-such", "--to", "earliest", "--force"],
  "dataset get": ["no-such"],
  "dataset rename": ["no-such", "other"],
  "dataset archive": ["rev_0", "--yes"],
  "dataset download": ["rev_0"],
  "dataset stream-links": ["rev_0"],
  "dataset upload": ["values.csv", "--name", "canary"],
  sql: ["select 1"],
  upload: ["values.csv"],
  "offline-query": ["--in", "user.id=1", "--out", "user.name"],
  "offline-queries get": ["ofq_0"],
  "offline-queries cancel": ["ofq_0"],
  "offline-queries retry": ["ofq_0"],
  "workflows get": ["wf_0"],
  "workflows get-graph": ["wf_0"],
  "migrate-type": ["--features", "user.name", "--yes"],
  "drop-version": ["--features", "user.name", "--yes"],
  "incremental status": ["--resolver", "no-such"],
  "incremental set": ["--resolver", "no-such", "--max-ingested-ts", "2026-01-01T00:00:00Z", "--yes"],
  "incremental drop": ["--resolver", "no-such", "--yes"],
  "scheduled-query trigger": ["--name", "no-such"],
  "init agent-prompt": ["codex"],
  "codegen java": ["--out", "java"],
  "codegen pydantic": ["--in", "message.proto"],
  "notebook exec": ["1", "--id", "nb_0"],
  "notebook import": ["no-such.ipynb"],
  "benchmark get": ["bench_0"],
  "benchmark cancel": ["bench_0"],
  "benchmark compare": ["bench_0", "bench_1"],
  "service-token create": ["--name", "x", "--permission", "read"],
  "service-token update": ["st_0", "--name", "x"],
  "service-token delete": ["st_0", "--yes"],
};
const PROJECT = {
  "svc.yaml": "project: canary\n",
  "integration.yaml": "name: chat\nkind: kafka\nenvironment_variables:\n  KAFKA_BOOTSTRAP_SERVERS: 127.0.0.1:9\n",
  "component.yaml": "{}\n",
  "environment.yaml": "additional_env_vars: {A: b}\n",
  "topics.yaml": "topics: []\n",
  "values.csv": "user.id,user.name\n1,a\n",
  "features.py":
    'from svc.features import features\nfrom svc import online\n\n@features(owner="a@example.com")\nclass User:\n    id: int\n    name: str\n\n@online\ndef name(id: User.id) -> User.name:\n    return f"user {id}"\n',
};

function paths(tree: Readonly<Record<string, TreeEntry>>, above: readonly string[] = []): string[][] {
  return Object.entries(tree).flatMap(([name, { load, verbs }]) => {
    const path = [...above, name];
    return [...(load ? [path] : []), ...paths(verbs ?? {}, path)];
  });
}

const SPELLINGS = new Map<string, readonly string[]>();

/**
 * Every spelling in which a secret could get out; of its base64, what stays the same wherever in a
 * text it stands.
 */
function spellings(secret: string): readonly string[] {
  const known = SPELLINGS.get(secret) ?? spelled(secret);
  SPELLINGS.set(secret, known);
  return known;
}

function spelled(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const shifted = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .slice(4, -4),
  );
  const json = JSON.stringify(secret).slice(1, -1);
  const all = [
    secret,
    json,
    JSON.stringify(json).slice(1, -1),
    encodeURIComponent(secret),
    encodeURI(secret),
    bytes.toString("hex"),
    bytes.toString("latin1"),
  ].concat(shifted.flatMap((text) => [text, text.replaceAll("+", "-").replaceAll("/", "_")]));
  return [...new Set(all)];
}
const CANARIES: string[] = [...Object.values(GIVEN), ...Object.values(ANSWERED)];

function leaks(text: string, allowed: readonly string[] = []): string[] {
  return CANARIES.filter((secret) => !allowed.includes(secret)).flatMap((secret) =>
    spellings(secret).filter((spelling) => text.includes(spelling)),
  );
}

/** All files below a folder, as Latin-1 and as UTF-8, so that text is found in databases too. */
function contents(folder: string): { readonly path: string; readonly text: string }[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => existsSync(path))
    .map((path) => {
      const bytes = readFileSync(path);
      return { path, text: `${bytes.toString("latin1")}\n${bytes.toString("utf8")}` };
    });
}

let sandbox: Sandbox;
let project = "";
let shims = "";
let children = "";
const servers: FakeServer[] = [];

beforeAll(async () => {
  sandbox = new Sandbox();
  project = await sandbox.write(PROJECT);
  children = join(sandbox.root, "children.log");
  shims = join(sandbox.root, "shims");
  mkdirSync(shims);
  for (const name of ["git", "python3", "diff", "uv", "xdg-open"]) {
    const real = Bun.which(name);
    const then = real ? `exec ${real} "$@"` : "exit 1";
    writeFileSync(join(shims, name), `#!/bin/sh\n{ echo "${name} $*"; [ ${name} = python3 ] && env; } >> ${children}\n${then}\n`);
    chmodSync(join(shims, name), 0o755);
  }
  writeFileSync(children, "");
});
afterAll(async () => {
  await sandbox.svc(["server", "stop", "--data-dir", "other-data"], { cwd: project });
  await Promise.all(servers.map((server) => server.stop()));
  await sandbox[Symbol.asyncDispose]();
});

/** Runs a command with -vv; `how` says where the credentials come from. */
async function run(
  path: readonly string[],
  how: keyof typeof GIVEN,
  secret: string,
  id: string,
  url: string,
  words = WORDS[path.join(" ")] ?? [],
): Promise<Outcome> {
  for (const name of ["branch-source-out", "source-out"]) rmSync(join(project, name), { recursive: true, force: true });
  const config = join(sandbox.root, "svc.yml");
  writeFileSync(
    config,
    how === "config" ? JSON.stringify({ tokens: { default: { clientId: id, clientSecret: secret, apiServer: url } } }) : "{}",
  );
  chmodSync(config, 0o600);
  const flags = how === "flag" ? ["--client-id", id, "--client-secret", secret, "--api-host", url] : [];
  const env = how === "env" ? { SVC_CLIENT_ID: id, SVC_CLIENT_SECRET: secret, SVC_API_SERVER: url } : {};
  return await sandbox.svc([...path, ...words, "-vv", "--auth-config", config, ...flags], {
    cwd: project,
    env: { ...env, PATH: `${shims}:${sandbox.env.PATH}`, EDITOR: "true" },
  });
}

const WARNED = /Warning: a secret on the command line \(--client-secret\) can be seen by other programs/g;

/** What a command printed beside what it is for: `svc token` prints a token. */
function unasked(name: string, { stdout, stderr }: { readonly stdout: string; readonly stderr: string }): string {
  return name === "token" ? stderr : stdout + stderr;
}

describe.each(Object.entries(GIVEN))("a secret by %s", (given, secret) => {
  const how = given as keyof typeof GIVEN;

  test("is not said by any command when the server refuses everything and repeats what it was sent", async () => {
    const echo = async (request: Request) =>
      Response.json(
        {
          code: "internal",
          message: `you sent ${request.headers.get("authorization")} and ${secret} and ${Buffer.from(secret).toString("base64")} in ${await request.text()}`,
        },
        { status: 500, headers: { "x-echo": encodeURIComponent(secret), "set-cookie": `session=${ANSWERED.token}` } },
      );
    const calls = fakeServer({ call: echo, exchange: () => tokenAnswer(ANSWERED.token) });
    const exchange = fakeServer({
      exchange: (body) => Response.json({ error: "invalid_client", error_description: `bad ${JSON.stringify(body)}` }, { status: 401 }),
    });
    servers.push(calls, exchange);
    const asked = () => calls.requests.length + calls.exchanges();
    /** Commands that asked the first server nothing, for which the other is no other case. */
    const local = new Set<string>();
    for (const server of [calls, exchange])
      for (const path of paths(commandTree)) {
        const name = path.join(" ");
        if ((name === "login" && how !== "flag") || local.has(name)) continue;
        const before = asked();
        const said = await run(path, how, secret, "client", server.url);
        if (server === calls && asked() === before) local.add(name);
        expect([name, leaks(unasked(name, said))]).toEqual([name, []]);
        expect([name, said.stderr.match(WARNED)?.length ?? 0]).toEqual([name, how === "flag" ? 1 : 0]);
      }
    expect(calls.requests.length).toBeGreaterThan(10);
    expect(exchange.exchanges()).toBeGreaterThan(10);
    expect(JSON.stringify(calls.requests.map(({ body }) => Buffer.from(body).toString()))).toContain("c4nary");
  }, 300_000);
});

describe("the credentials of a real server", () => {
  let secret = "";
  let id = "";
  let url = "";
  beforeAll(async () => {
    url = await sandbox.startServer();
    const config = readFileSync(join(sandbox.home, ".config/svc.yml"), "utf8");
    secret = /clientSecret: "?([^"\n]+)/.exec(config)?.[1] ?? "";
    id = /clientId: "?([^"\n]+)/.exec(config)?.[1] ?? "";
    expect(secret.length).toBeGreaterThan(20);
    CANARIES.push(secret);
    const branch = await run(["apply"], "config", secret, id, url, ["--force", "--await", "--branch=try"]);
    expect([branch.exitCode, branch.stdout]).toEqual([0, expect.stringContaining("is live")]);
  }, 300_000);

  test.each(Object.keys(GIVEN) as (keyof typeof GIVEN)[])(
    "are not said by any command that works with them, given by %s",
    async (how) => {
      const worked: string[] = [];
      for (const path of paths(commandTree)) {
        const name = path.join(" ");
        if (name === "login" && how !== "flag") continue;
        const said = await run(path, how, secret, id, url);
        for (const file of readdirSync(join(sandbox.home, ".svc/cache")).filter((one) => /^[0-9a-f]{32}\.json$/.test(one))) {
          const { accessToken } = JSON.parse(readFileSync(join(sandbox.home, ".svc/cache", file), "utf8")) as { accessToken: string };
          if (!CANARIES.includes(accessToken)) CANARIES.push(accessToken);
        }
        expect([name, leaks(unasked(name, said))]).toEqual([name, []]);
        expect([name, said.stderr.match(WARNED)?.length ?? 0]).toEqual([name, how === "flag" ? 1 : 0]);
        if (said.exitCode === 0) worked.push(name);
      }
      expect(CANARIES.filter((one) => one.startsWith("eyJ")).length).toBeGreaterThan(1);
      for (const name of [
        "apply",
        "lint",
        "query",
        "source",
        "branch source",
        "diff",
        "features",
        "user",
        "healthcheck",
        "server start",
        "dashboard",
      ])
        expect(worked).toContain(name);
    },
    300_000,
  );

  test("are printed where that is asked for, and by that the search is known to find them", async () => {
    for (const format of ["env", "shell", "svcpy", "json"]) {
      const said = await run(["config"], "config", secret, id, url, ["--format", format]);
      expect(leaks(said.stdout)).toContain(secret);
      expect(leaks(said.stderr)).toEqual([]);
    }
    const token = await run(["token"], "config", secret, id, url);
    expect([leaks(token.stdout).length > 0, leaks(token.stderr)]).toEqual([true, []]);
  });
});

test("a login that is confirmed shows neither the session's secret nor the client's, and stores the latter privately", async () => {
  const server = fakeServer({
    exchange: () => tokenAnswer(ANSWERED.token),
    call: (request) =>
      request.url.endsWith("CreateLoginSession")
        ? protoAnswer(CreateLoginSessionResponseSchema, {
            loginSessionId: "ls_1",
            sessionSecret: ANSWERED.session,
            url: "http://127.0.0.1:9/cli/ls_1",
          })
        : protoAnswer(GetLoginSessionResponseSchema, {
            status: LoginSessionStatus.CONFIRMED,
            clientId: "client-9",
            clientSecret: ANSWERED.login,
          }),
  });
  servers.push(server);
  const home = join(sandbox.root, "login-home");
  const said = await sandbox.svc(["login", "-y", "-vv", "--api-host", server.url], { env: { HOME: home } });
  expect([said.exitCode, leaks(said.stdout + said.stderr)]).toEqual([0, []]);
  const stored = join(home, ".config/svc.yml");
  expect(readFileSync(stored, "utf8")).toContain(ANSWERED.login);
  expect(statSync(stored).mode & 0o777).toBe(0o600);
});

test("an access token as a flag works, is warned of, and is not said", async () => {
  const server = fakeServer({ call: async (request) => new Response(`no ${request.headers.get("authorization")}`, { status: 403 }) });
  servers.push(server);
  const said = await sandbox.svc(["user", "-vv", "--api-host", server.url, `--token=${ANSWERED.bearer}`]);
  expect([said.exitCode, leaks(said.stdout + said.stderr)]).toEqual([1, []]);
  expect(said.stderr.match(/Warning: a secret on the command line \(--token\)/g)?.length).toBe(1);
  expect(server.requests[0]?.headers.get("authorization")).toBe(`Bearer ${ANSWERED.bearer}`);
});

test("no file below the home folder or the project, and no child process, has any of them", () => {
  const log = readFileSync(children, "utf8");
  expect(log).toContain("git ");
  expect(log).toContain("python3 ");
  expect(leaks(log)).toEqual([]);
  const isStore = (path: string) => path === join(sandbox.home, ".config/svc.yml") || /\/\.svc\/cache\/[0-9a-f]{32}\.json$/.test(path);
  const files = [...contents(sandbox.home), ...contents(project)].filter(({ path }) => !isStore(path));
  expect(files.length).toBeGreaterThan(20);
  expect(files.some(({ path }) => path.endsWith("meta.db"))).toBe(true);
  for (const { path, text } of files) expect([path, leaks(text)]).toEqual([path, []]);
});

test.skipIf(process.platform === "win32")(
  "a config file that others may read is warned of once, with what closes it, and closed by the next write",
  async () => {
    const home = join(sandbox.root, "open-home");
    const config = join(home, ".config/svc.yml");
    mkdirSync(join(home, ".config"), { recursive: true });
    copyFileSync(join(sandbox.home, ".config/svc.yml"), config);
    for (const mode of [0o644, 0o640, 0o602]) {
      chmodSync(config, mode);
      for (const words of [["user"], ["healthcheck", "--json"], ["config"]]) {
        const { stderr } = await sandbox.svc(words, { env: { HOME: home } });
        expect(stderr.match(/^Warning: .*$/gm)).toEqual([
          `Warning: ${config} holds a client secret, and other users of this machine may open it; close it with: chmod 600 ${config}`,
        ]);
      }
    }
    for (const words of [["help"], ["version"]]) expect((await sandbox.svc(words, { env: { HOME: home } })).stderr).toBe("");
    await sandbox.svc(["environment", "default"], { env: { HOME: home } });
    expect(statSync(config).mode & 0o777).toBe(0o600);
    expect((await sandbox.svc(["user"], { env: { HOME: home } })).stderr).toBe("");
    chmodSync(config, 0o644);
    writeFileSync(config, "updateCheck: false\n");
    expect((await sandbox.svc(["config"], { env: { HOME: home } })).stderr).toBe("");
  },
);
