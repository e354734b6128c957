/** Scaling groups that are defined in Python, on a real Podman. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ContainerService } from "../../gen/svc/v1/container_pb.ts";
import { ScalingGroupService } from "../../gen/svc/v1/scaling_group_pb.ts";
import { SecretService } from "../../gen/svc/v1/secret_pb.ts";
import { ServiceTokenService } from "../../gen/svc/v1/service_token_pb.ts";
import { VolumeService } from "../../gen/svc/v1/volume_pb.ts";
import { eventually } from "../harness/eventually.ts";
import { BUSYBOX, lacksPodman, startPodman, type TestPodman } from "../harness/podman.ts";
import { importPython, lacksPythonImage, PYTHON } from "../harness/python-image.ts";
import { TempFolder, TestServer } from "../harness/running-server.ts";
import { makeWheel } from "../server/images/wheel.ts";
import { INTERPRETERS, SDK_ROOT } from "./interpreters.ts";

const TEST_MS = 300_000;

/** A group as it is defined here, unless a test says otherwise. */
const PREAMBLE = `
import json, sys
from svc.containers import Image, ScalingGroup, ScalingGroupNotReady
SERVE = "printf '%s %s' $GREETING $(cat /data/name) > /tmp/index.html; trap 'kill $!; exit 0' TERM; httpd -f -p 8080 -h /tmp & wait"
def group(**options):
    return ScalingGroup(**{"image": Image("${BUSYBOX}"), "name": "site", "port": 8080, "entrypoint": ["sh", "-c", SERVE], **options})
`;

const WHEEL = "greeting-1.0-py3-none-any.whl";
/** A program that answers with what its image has. */
const SERVER = `
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
from greet import WORD
from greeting import NAME
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"{WORD} {NAME} of {', '.join(sorted(name for name in os.listdir() if name != '__pycache__'))}".encode())
HTTPServer(("", 8080), Handler).serve_forever()
`;

function writeTree(folder: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

describe.skipIf(lacksPodman())("with an engine", () => {
  const folder = new TempFolder();
  let podman: TestPodman;
  let server: TestServer;
  let index: Bun.Server<undefined>;

  beforeAll(async () => {
    podman = await startPodman();
    const wheel = await makeWheel("greeting", "1.0", 'NAME = "world"\n');
    index = Bun.serve({
      port: 0,
      hostname: "0.0.0.0",
      fetch({ url }) {
        const { pathname } = new URL(url);
        if (pathname === `/simple/greeting/${WHEEL}`) return new Response(wheel);
        if (pathname !== "/simple/greeting/") return new Response("", { status: 404 });
        return new Response(`<a href="${WHEEL}">${WHEEL}</a>`, { headers: { "content-type": "text/html" } });
      },
    });
    const host = podman.podman("network", "inspect", "podman", "--format", "{{(index .Subnets 0).Gateway}}").trim();
    const pip = { PIP_INDEX_URL: `http://${host}:${index.port}/simple`, PIP_TRUSTED_HOST: host, PIP_RETRIES: "0" };
    server = await TestServer.start(folder.path, {
      env: { PATH: process.env.PATH, HOME: folder.path, SVC_CONTAINER_ENGINE: podman.address, ...pip },
    });
    await server.client(VolumeService).createVolume({ name: "names" });
    const { container } = await runOnce("echo world > /data/name");
    await eventually(async () => !podman.containers().includes(`svc-${container}`), "its end");
  }, TEST_MS);
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await podman?.[Symbol.asyncDispose]();
    await index?.stop(true);
    folder[Symbol.dispose]();
  }, TEST_MS);

  const runOnce = async (script: string): Promise<{ container: string }> => {
    const spec = { image: BUSYBOX, entrypoint: ["sh", "-c", script], volumes: [{ volume: "names", path: "/data" }] };
    const { container } = await server.client(ContainerService).runContainer({ spec });
    return { container: container?.id ?? "" };
  };
  /** Runs Python, with what `SvcClient()` finds; returns what it printed, or threw. */
  const python = async (
    script: string,
    credentials: Pick<TestServer["credentials"], "clientId" | "clientSecret"> = server.credentials,
  ): Promise<string> => {
    const env = {
      ...{ PATH: process.env.PATH ?? "", PYTHONPATH: SDK_ROOT, HOME: folder.path },
      ...{ SVC_API_SERVER: server.url, SVC_CLIENT_ID: credentials.clientId, SVC_CLIENT_SECRET: credentials.clientSecret },
    };
    const argv = [INTERPRETERS[0]?.path ?? "python3", "-B", "-X", "utf8", "-W", "error", "-c", PREAMBLE + script];
    const child = Bun.spawn(argv, { env, cwd: folder.path, stdout: "pipe", stderr: "pipe" });
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return (stdout + stderr).trim();
  };
  const groups = () => server.client(ScalingGroupService);
  const remove = (name: string) => groups().deleteScalingGroup({ group: name });
  const setSecret = (name: string, value: string) => server.client(SecretService).setSecrets({ secrets: [{ name, value }] });

  test(
    "a group is deployed once, replaced when its definition changes, and has an address",
    async () => {
      await setSecret("GREETING", "hello");
      const deploy = (more = ""): Promise<string> =>
        python(`
one = group(secrets=["GREETING"], volumes=[("names", "/data")], max_replicas=2, cpu="1", memory="64Mi", tags={"team": "web"}${more})
print(one.deploy(), one.wait_ready(), one.web_url)
`);
      const first = await deploy();
      expect(first).toMatch(/^True None http:\/\/\S+\/site-\w+\/$/);
      const url = first.split(" ")[2] ?? "";
      const said = async (): Promise<string> => (await fetch(url)).text();
      expect(await said()).toBe("hello world");
      const before = (await groups().getScalingGroup({ group: "site" })).group;
      expect(before?.bounds).toMatchObject({ minReplicas: 1, maxReplicas: 2, targetCpu: 80 });

      expect(await deploy()).toBe(`False None ${url}`);
      const same = (await groups().getScalingGroup({ group: "site" })).group;
      expect(same?.replicas.map(({ id }) => id)).toEqual(before?.replicas.map(({ id }) => id));

      let failed = 0;
      let isOver = false;
      const asking = (async () => {
        while (!isOver) failed += (await fetch(url)).ok ? 0 : 1;
      })();
      expect(await deploy(', entrypoint=["sh", "-c", SERVE.replace("%s %s", "%s, %s")]')).toBe(`True None ${url}`);
      await eventually(async () => (await said()) === "hello, world", "the new replica answers");
      isOver = true;
      await asking;
      expect(failed).toBe(0);
      expect((await groups().getScalingGroup({ group: "site" })).group?.id).toBe(before?.id ?? "");
      await remove("site");
    },
    TEST_MS,
  );

  test.skipIf(lacksPythonImage())(
    "an image has packages and files of this machine, and another file is another image",
    async () => {
      importPython(podman);
      const app = join(folder.path, "app");
      writeTree(app, { "greet.py": 'WORD = "hello"\n', ".gitignore": "*.log\n", "x.log": "", "main.py": SERVER });
      const deploy = (): Promise<string> =>
        python(`
image = Image("${PYTHON}").pip_install("greeting==1.0").add_local_dir("app", "/srv/app")
one = ScalingGroup(image, "built", port=8080, entrypoint=["python3", "main.py"])
print(one.deploy(), one.wait_ready(), one.web_url)
`);
      const first = await deploy();
      expect(first).toMatch(/^True None http:/);
      const url = first.split(" ")[2] ?? "";
      const said = async (): Promise<string> => (await fetch(url)).text();
      expect(await said()).toBe("hello world of .gitignore, greet.py, main.py");
      expect(await deploy()).toBe(`False None ${url}`);
      writeTree(app, { "greet.py": 'WORD = "hi"\n' });
      expect(await deploy()).toBe(`True None ${url}`);
      await eventually(async () => (await said()).startsWith("hi world of"), "the new replica answers");
      const broken = await python(`group(image=Image("${PYTHON}").pip_install("nothing-of-this-name")).deploy()`);
      expect(broken).toContain("No matching distribution found for nothing-of-this-name");
      expect((await groups().listScalingGroups({})).groups.map(({ name }) => name)).toEqual(["built"]);
      await remove("built");
    },
    TEST_MS,
  );

  test(
    "what the server refuses is told, and leaves everything as it was",
    async () => {
      await setSecret("GIVEN", "x");
      const missing = await python('group(secrets=["GIVEN", "MISSING", "__proto__", "OTHER"]).deploy()');
      expect(missing).toEndWith(
        "There are no secrets 'MISSING', '__proto__', 'OTHER' in this environment. `svc secret list` shows its secrets; `svc secret set` makes one.",
      );
      expect(await python('group(volumes=[("none", "/data")]).deploy()')).toContain("volume 'none'");
      expect(await python('group(volumes=[("names", "data")]).deploy()')).toContain('"data" is no absolute path for a volume.');
      expect(await python('group(image="localhost/none:1").deploy()')).toContain("localhost/none:1");
      expect(await python("group().wait_ready()")).toContain("404: There is no scaling group 'site'");
      expect(await python("print(group().web_url)")).toContain("404: There is no scaling group 'site'");
      expect((await groups().listScalingGroups({})).groups).toEqual([]);
      const viewer = await server.client(ServiceTokenService).createServiceToken({ name: "viewer", permissions: ["read"] });
      const credentials = { clientId: viewer.serviceToken?.clientId ?? "", clientSecret: viewer.clientSecret };
      expect(await python("group().deploy()", credentials)).toContain("containers.write");
    },
    TEST_MS,
  );

  test(
    "a group whose replicas do not stay says why, with their last lines",
    async () => {
      const said = await python(`
bad = group(name="bad", entrypoint=["sh", "-c", "printf 'no key was\\\\033[31m given' >&2; exit 3"])
print(bad.deploy())
try:
    bad.wait_ready()
except ScalingGroupNotReady as error:
    print(error)
    print(error.lines)
`);
      const line = "no key was\\x1b[31m given";
      expect(said).toMatch(/^True\nthe scaling group 'bad' does not become ready\. A replica ended with exit code 3/);
      expect(said).toContain(`\n  ${line}\n`);
      expect(said).toEndWith(`('${line.replace("\\", "\\\\")}',)`);
      await remove("bad");
    },
    TEST_MS,
  );

  test(
    "a group that takes too long says what it waits for",
    async () => {
      const said = await python(`
slow = group(name="slow", entrypoint=["sh", "-c", "echo still loading; sleep 1000"])
slow.deploy()
try:
    slow.wait_ready(timeout=2)
except TimeoutError as error:
    print(error)
`);
      expect(said).toMatch(/^the scaling group 'slow' was not ready within 2 s; it goes on\. A replica does not answer on port 8080: /);
      expect(said).toEndWith("\n  still loading");
      await remove("slow");
    },
    TEST_MS,
  );

  test(
    "a group without a port is ready when it runs, and has no address",
    async () => {
      const said = await python(`
worker = group(name="worker", port=None, entrypoint=["sh", "-c", "trap 'exit 0' TERM; sleep 1000 & wait"])
print(worker.deploy(), worker.wait_ready(), worker.deploy())
print(worker.web_url)
`);
      expect(said).toStartWith("True None False\n");
      expect(said).toEndWith("svc._client.errors.ClientError: the scaling group 'worker' has no address: it was deployed without port=");
      await remove("worker");
    },
    TEST_MS,
  );
});
