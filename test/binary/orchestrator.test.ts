/**
 * Scaling groups from Python with the built binary, on a real Podman: the guide, and the example
 * orchestrator, whose states outlive its container and the server.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { FakeController } from "../harness/fake-controller.ts";
import { lacksProgram } from "../harness/needs.ts";
import { type AgentRow, agentsOf, ORCHESTRATOR, post, recorded, SECRETS } from "../harness/orchestrator.ts";
import { lacksPodman, startPodman, type TestPodman } from "../harness/podman.ts";
import { importPython, lacksPythonImage, PYTHON } from "../harness/python-image.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { blocksOf, commandsOf, expectSaid, follow } from "../harness/session.ts";
import { INTERPRETERS, SDK_ROOT } from "../sdk/interpreters.ts";

const TEST_MS = 600_000;
/** Calls that the orchestrator makes at once. */
const AT_ONCE = 4;
/** This machine, as a container of Podman's knows it. */
const HOST = "host.containers.internal";

describe.skipIf(lacksPodman() || lacksPythonImage() || lacksProgram("curl"))("with an engine", () => {
  let podman: TestPodman;
  let sandbox: Sandbox;
  let engine: Record<string, string>;
  beforeAll(async () => {
    podman = await startPodman();
    importPython(podman);
    podman.podman("tag", PYTHON, "docker.io/library/python:3.12-slim");
    sandbox = new Sandbox({ PYTHONPATH: SDK_ROOT });
    engine = { SVC_CONTAINER_ENGINE: podman.address };
    await sandbox.startServer(engine);
    cpSync(ORCHESTRATOR, join(sandbox.home, "orchestrator"), { recursive: true });
  }, TEST_MS);
  afterAll(async () => {
    await sandbox?.[Symbol.asyncDispose]();
    await podman?.[Symbol.asyncDispose]();
  }, TEST_MS);

  const svc = async (...words: string[]): Promise<void> => {
    const { exitCode, stderr } = await sandbox.svc(words);
    expect([words.join(" "), exitCode, stderr]).toEqual([words.join(" "), 0, expect.any(String)]);
  };
  /** Runs the example's `deploy.py`; returns the address that it printed. */
  const deploy = async (): Promise<string> => {
    const argv = [INTERPRETERS[0]?.path ?? "python3", "-B", "-W", "error", "deploy.py"];
    const child = Bun.spawn(argv, { cwd: join(sandbox.home, "orchestrator"), env: sandbox.env, stdout: "pipe", stderr: "pipe" });
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect(stderr).toBe("");
    return stdout.trim().replace(/\/$/, "");
  };
  const sent = async (url: string, number: number): Promise<string> => {
    const { body, headers } = recorded("issue-opened");
    const said = body as { issue: object };
    const webhook = {
      headers: { ...headers, "X-GitHub-Delivery": `delivery-${number}` },
      body: { ...said, issue: { ...said.issue, number } },
    };
    return ((await (await post(url, webhook)).json()) as { agent_id: string }).agent_id;
  };
  const replicas = () => podman.containers().filter((name) => name.startsWith("svc-"));
  const isOpen = ({ status }: AgentRow) => status === "pending" || status === "session_created";
  const settled = (url: string) =>
    eventually(async () => {
      const rows = await agentsOf(url).catch(() => undefined);
      return rows !== undefined && Array.isArray(rows) && !rows.some(isOpen);
    }, "all agents have settled");

  test(
    "the guide is true",
    async () => {
      const blocks = blocksOf(readFileSync(join(import.meta.dir, "../../docs/scaling-groups.md"), "utf8"));
      const route = [/\bgreeter-\S+$/g, "greeter-ROUTE"] as const;
      expectSaid(blocks.flatMap(commandsOf), await follow(blocks, sandbox), [route]);
    },
    TEST_MS,
  );

  test(
    "the orchestrator's states outlive a kill of its container and of the server, and no session is made twice",
    async () => {
      using fake = new FakeController(SECRETS.CONTROLLER_API_KEY, "0.0.0.0");
      await sandbox.svc(["volume", "delete", "--name", "agents", "--yes"]);
      await svc("volume", "create", "--name", "agents");
      for (const [name, value] of Object.entries({ ...SECRETS, CONTROLLER_URL: `http://${HOST}:${fake.port}` }))
        await svc("secret", "set", `${name}=${value}`);
      let url = await deploy();
      const first = await sent(url, 1);
      await settled(url);
      expect((await agentsOf(url)).map(({ id, status }) => [id, status])).toEqual([[first, "running"]]);

      // Its container.
      fake.answer = () => new Promise(() => undefined);
      const ids: string[] = [];
      for (let number = 2; number < 2 + AT_ONCE + 1; number++) ids.push(await sent(url, number));
      await eventually(() => fake.sessions.length === 1 + AT_ONCE, "sessions are being made");
      const [killed = ""] = replicas();
      podman.podman("kill", "--signal", "KILL", killed);
      fake.answer = () => fake.next();
      await eventually(() => replicas().length === 1 && replicas()[0] !== killed, "another replica runs");
      await settled(url);
      const status = new Map((await agentsOf(url)).map((row) => [row.id, row.status]));
      expect([first, ...ids].map((id) => status.get(id))).toEqual(["running", ...Array(AT_ONCE).fill("failed"), "running"]);
      expect(fake.sessions).toHaveLength(1 + AT_ONCE + 1);

      // The server, while a session is made.
      const held = Promise.withResolvers<Response>();
      fake.answer = ({ path }) => (path.endsWith("/tasks") ? fake.next() : held.promise);
      const during = await sent(url, 10);
      await eventually(() => fake.sessions.length === 1 + AT_ONCE + 2, "the session is being made");
      const [before] = replicas();
      const rows = await agentsOf(url);
      await sandbox.killServer();
      held.resolve(Response.json({ id: "session-held" }));
      await sandbox.startServer(engine);
      url = await deploy();
      await settled(url);
      const after = await agentsOf(url);
      expect(replicas()).toEqual([before ?? ""]);
      expect(after.filter(({ id }) => id !== during)).toEqual(rows.filter(({ id }) => id !== during));
      expect(after.find(({ id }) => id === during)).toMatchObject({ status: "running", session_id: "session-held" });
      expect(fake.refused).toBe(0);
      await svc("scaling-group", "delete", "--name", "orchestrator", "--yes");
    },
    TEST_MS,
  );

  test(
    "without a secret the orchestrator does not start, and the deployment says which is missing",
    async () => {
      const { exitCode, stderr } = await sandbox.svc(["secret", "delete", "CONTROLLER_API_KEY", "--yes"]);
      expect([exitCode, stderr]).toEqual([0, expect.any(String)]);
      const argv = [INTERPRETERS[0]?.path ?? "python3", "-B", "deploy.py"];
      const child = Bun.spawn(argv, { cwd: join(sandbox.home, "orchestrator"), env: sandbox.env, stderr: "pipe" });
      expect(await new Response(child.stderr).text()).toContain("There is no secret 'CONTROLLER_API_KEY' in this environment.");
      expect(replicas()).toEqual([]);
    },
    TEST_MS,
  );
});
