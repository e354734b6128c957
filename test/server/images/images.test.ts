/** Images that the platform makes, with a real engine and a real pip. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createDockerEngine } from "../../../src/server/engines/docker/docker-engine.ts";
import { findEngine } from "../../../src/server/engines/find-engine.ts";
import type { ImageSpec } from "../../../src/server/images/image-spec.ts";
import { createImages, type Images, type ImagesOptions } from "../../../src/server/images/images.ts";
import { createLog } from "../../../src/server/log.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import type { MetadataStore } from "../../../src/server/stores/metadata/store.ts";
import { eventually } from "../../harness/eventually.ts";
import { BUSYBOX, lacksPodman, startPodman, type TestPodman } from "../../harness/podman.ts";
import { importPython, lacksPythonImage, PYTHON } from "../../harness/python-image.ts";
import { TempFolder, TestClock } from "../../harness/running-server.ts";
import { makeWheel } from "./wheel.ts";

const TEST_MS = 300_000;
const { signal } = new AbortController();

describe.skipIf(lacksPodman() || lacksPythonImage())("images", () => {
  let podman: TestPodman;
  let store: MetadataStore;
  let images: Images;
  const folder = new TempFolder();
  const opened: Images[] = [];
  const clock = new TestClock();

  const imagesWith = (more: Partial<ImagesOptions> = {}): Images => {
    const engine = createDockerEngine(podman.address.slice("unix://".length));
    const made = createImages({
      ...{ engine: () => engine, builds: store.imageBuilds, env: {}, home: folder.path, folder: join(folder.path, "tmp"), node: "node_1" },
      ...{ halted: () => new AbortController().signal, clock, log: createLog({ clock, write: () => undefined }) },
      ...more,
    });
    opened.push(made);
    return made;
  };
  const file = (name: string, content: string | Uint8Array): { path: string; source: string } => {
    const source = join(folder.path, name);
    writeFileSync(source, content);
    return { path: name, source };
  };
  const specOf = (more: Partial<ImageSpec>): ImageSpec => ({
    base: PYTHON,
    requirements: "",
    root: undefined,
    files: [],
    env: {},
    workdir: "",
    ...more,
  });
  let count = 0;
  const ensure = (spec: ImageSpec, by = images, given = signal, onLine?: (line: string) => void): Promise<string> => {
    count++;
    return by.ensure({ environmentId: "env_1", deploymentId: "", name: `image-${count}`, spec, ...(onLine && { onLine }) }, given);
  };
  const recorded = () => store.imageBuilds.build("env_1", `image-${count}`);
  const refusal = (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => "no refusal",
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
  const run = (image: string, ...words: string[]): string => podman.podman("run", "--rm", "--network=none", image, ...words);

  beforeAll(async () => {
    podman = await startPodman();
    importPython(podman);
    store = createSqliteMetadataStore({ path: join(folder.path, "meta.db"), programVersion: "1.0.0" });
    images = imagesWith();
    writeFileSync(join(folder.path, "tinypkg-1.0-py3-none-any.whl"), await makeWheel("tinypkg", "1.0", "ANSWER = 42\n"));
  }, TEST_MS);
  afterAll(async () => {
    for (const one of opened) await one.close();
    await podman?.[Symbol.asyncDispose]();
    await store?.close();
    folder[Symbol.dispose]();
  }, TEST_MS);

  test(
    "have what they are made of, are recorded with their log, and never made twice",
    async () => {
      const main = file("main.py", "import os, tinypkg\nprint(os.getcwd(), tinypkg.ANSWER, os.environ['GREETING'])\n");
      const odd = 'a "quoted" $HOME \\ #x';
      const spec = specOf({
        ...{ requirements: "# only this\n./tinypkg-1.0-py3-none-any.whl\nsvc\n", root: folder.path, files: [main] },
        ...{ env: { GREETING: odd }, workdir: "/app" },
      });
      const image = await ensure(spec);
      expect(run(image, "python", "main.py")).toBe(`/app 42 ${odd}\n`);
      expect(await recorded()).toMatchObject({ phase: "succeeded", kind: "image", imageDestinations: [image], error: "" });
      const log = (await store.imageBuilds.lines("env_1", `image-${count}`)).join("\n");
      expect(log).toContain("Successfully installed tinypkg-1.0");
      expect(log).toContain("WORKDIR /app");

      const before = podman.podman("images", "--all", "--quiet");
      expect(await ensure(spec)).toBe(image);
      expect([(await recorded())?.phase, podman.podman("images", "--all", "--quiet")]).toEqual(["skipped", before]);

      const said: string[] = [];
      const other = await ensure(
        { ...spec, files: [file("main.py", "import tinypkg; print(tinypkg.ANSWER + 1)\n")] },
        images,
        signal,
        (line) => said.push(line),
      );
      expect([other === image, run(other, "python", "main.py")]).toEqual([false, "43\n"]);
      expect(said.join("\n")).not.toContain("tinypkg");
      expect(readdirSync(join(folder.path, "tmp"))).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "get packages of a private index, whose password stays in no image, record or label",
    async () => {
      const asked: string[] = [];
      using index = Bun.serve({
        port: 0,
        hostname: "0.0.0.0",
        async fetch(request) {
          const { pathname } = new URL(request.url);
          asked.push(pathname);
          if (request.headers.get("authorization") !== `Basic ${btoa("reader:pass-4711")}`) return new Response("who?", { status: 401 });
          if (pathname === "/simple/hidden/")
            return new Response('<a href="/hidden-2.0-py3-none-any.whl">hidden-2.0-py3-none-any.whl</a>', {
              headers: { "content-type": "text/html" },
            });
          if (pathname === "/hidden-2.0-py3-none-any.whl") return new Response(await makeWheel("hidden", "2.0", "NAME = 'hidden'\n"));
          return new Response("no", { status: 404 });
        },
      });
      const host = podman.podman("network", "inspect", "podman", "--format", "{{(index .Subnets 0).Gateway}}").trim();
      const env = { PIP_INDEX_URL: `http://reader:pass-4711@${host}:${index.port}/simple`, PIP_TRUSTED_HOST: host, PIP_RETRIES: "0" };
      const said: string[] = [];
      const image = await ensure(specOf({ requirements: "hidden==2.0\n" }), imagesWith({ env }), signal, (line) => said.push(line));
      expect(run(image, "python", "-c", "import hidden; print(hidden.NAME)")).toBe("hidden\n");
      expect(asked).toContain("/simple/hidden/");
      const all = podman
        .podman("images", "--all", "--quiet", "--no-trunc")
        .split("\n")
        .filter((id) => id !== "");
      const told = [
        ...all.flatMap((id) => [podman.podman("image", "inspect", id), podman.podman("history", "--no-trunc", id)]),
        ...said,
      ].join("\n");
      expect(told).not.toContain("4711");
      const files = podman.podman("run", "--rm", image, "/bin/sh", "-c", "cd /; ls -a / /opt/svc /root /tmp");
      expect(files).not.toContain("settings");

      const failed = await refusal(ensure(specOf({ requirements: "hidden==3.0\n" }), imagesWith({ env })));
      expect(failed).toStartWith("The requirements of the image could not be installed: pip exited with 1.\n  ");
      expect(failed).toContain("No matching distribution found for hidden==3.0");
      expect(failed).not.toContain("4711");
      expect(await recorded()).toMatchObject({ phase: "failed", error: failed });
      expect(podman.containers()).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "that nobody waits for any more are stopped, with pip, and are made by the next who asks",
    async () => {
      const reached = Promise.withResolvers<void>();
      const answer = Promise.withResolvers<Response>();
      using index = Bun.serve({
        ...{ port: 0, hostname: "0.0.0.0", idleTimeout: 0 },
        async fetch({ url }) {
          reached.resolve();
          return url.endsWith(".whl") ? new Response(await makeWheel("slow", "1.0", "")) : answer.promise.then((one) => one.clone());
        },
      });
      const host = podman.podman("network", "inspect", "podman", "--format", "{{(index .Subnets 0).Gateway}}").trim();
      const env = { PIP_INDEX_URL: `http://${host}:${index.port}/simple`, PIP_TRUSTED_HOST: host, PIP_RETRIES: "0" };
      const slow = imagesWith({ env });
      const [first, second] = [new AbortController(), new AbortController()];
      const spec = specOf({ requirements: "slow\n" });
      const one = ensure(spec, slow, first.signal);
      const two = ensure(spec, slow, second.signal);
      await reached.promise;
      expect(podman.containers().length).toBe(1);
      first.abort(new Error("the first has left"));
      expect(await refusal(one)).toBe("the first has left");
      expect(podman.containers().length).toBe(1);
      second.abort(new Error("so has the second"));
      expect(await refusal(two)).toBe("so has the second");
      await eventually(() => podman.containers().length === 0, "the end of the container");
      expect(await recorded()).toMatchObject({ phase: "error", error: "so has the second" });
      answer.resolve(
        new Response('<a href="/slow-1.0-py3-none-any.whl">slow-1.0-py3-none-any.whl</a>', { headers: { "content-type": "text/html" } }),
      );
      expect(run(await ensure(spec, slow), "python", "-c", "import slow; print('made')")).toBe("made\n");
    },
    TEST_MS,
  );

  test(
    "are refused in words, before anything is made",
    async () => {
      const nothing = await refusal(ensure(specOf({ base: "localhost/none:none" })));
      expect(nothing).toContain("There is no image 'localhost/none:none'");
      const cases: readonly (readonly [Partial<ImageSpec>, string])[] = [
        [{ base: "a\nRUN touch /x" }, "is no image"],
        [{ base: "a AS packages" }, "is no image"],
        [{ workdir: "/a\nRUN touch /x" }, "is no working folder"],
        [{ workdir: "/a/../b" }, "is no working folder"],
        [{ workdir: "app" }, "is no working folder"],
        [{ env: { A: "x\nRUN touch /x" } }, "line break"],
        [{ env: { "A B": "x" } }, "is no name of a variable"],
        [{ files: [{ path: "../x", source: "/etc/passwd" }] }, "is no path of a file"],
        [{ files: [{ path: "/x", source: "/etc/passwd" }] }, "is no path of a file"],
        [{ files: [{ path: "x", source: folder.path }] }, "The file x cannot be given to an image"],
        [{ files: [{ path: "x", source: join(folder.path, "none") }] }, "it does not exist"],
        [{ requirements: "-e ./x" }, "which is no installation"],
        [{ requirements: "/etc/x.whl" }, "which is no file of the project"],
        [{ requirements: "a @ file:///etc/x.whl" }, "which is no file of the project"],
        [{ requirements: "-r other.txt" }, "there is no project folder"],
      ];
      for (const [spec, words] of cases) expect(await refusal(ensure(specOf(spec)))).toContain(words);
      const bare = await refusal(ensure(specOf({ base: BUSYBOX, requirements: "x\n" })));
      expect(bare).toContain("the base has no Python");
      const wheels = imagesWith({ env: { PIP_FIND_LINKS: "/srv/wheels" } });
      expect(await refusal(ensure(specOf({ requirements: "x\n" }), wheels))).toContain("PIP_FIND_LINKS of this server names /srv/wheels");
      const without = imagesWith({ engine: () => findEngine({ SVC_CONTAINER_ENGINE: "off" }, "/") });
      expect(await refusal(ensure(specOf({}), without))).toStartWith("This server has no container engine");
      expect(existsSync("/x")).toBe(false);
    },
    TEST_MS,
  );

  test(
    "that were not asked for in a long time go, and what a killed server left",
    async () => {
      const few = imagesWith({ mostKept: 2, node: "node_2" });
      podman.podman("run", "--detach", "--label", "svc.transient=node_2", BUSYBOX, "sleep", "600");
      podman.podman("run", "--detach", "--name", "other", "--label", "svc.transient=node_3", BUSYBOX, "sleep", "600");
      await few.resume();
      expect(podman.containers()).toEqual(["other"]);
      podman.podman("rm", "--force", "--time=0", "other");
      const made: string[] = [];
      for (const A of ["1", "2", "3"]) {
        clock.advance(1_000);
        made.push(await ensure(specOf({ base: BUSYBOX, env: { A } }), few));
      }
      const there = () => made.map((image) => podman.podman("images", "--quiet", image) !== "");
      expect(there()).toEqual([false, true, true]);
      podman.podman("create", "--name", "user", made[1] ?? "");
      for (const A of ["4", "5"]) {
        clock.advance(1_000);
        await ensure(specOf({ base: BUSYBOX, env: { A } }), few);
      }
      expect(there()).toEqual([false, true, false]);
      podman.podman("rm", "user");
      expect(run(await ensure(specOf({ base: BUSYBOX, env: { A: "1" } }), few), "sh", "-c", "echo $A")).toBe("1\n");
    },
    TEST_MS,
  );
});
