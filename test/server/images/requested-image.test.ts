/** Images as callers ask for them: their bounds, their files, and which of them are kept. */

import { afterAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ContainerEngine } from "../../../src/server/engines/container-engine.ts";
import type { ImageSpec } from "../../../src/server/images/image-spec.ts";
import { createImages } from "../../../src/server/images/images.ts";
import { buildRequested, type RequestedImage, type SentFile } from "../../../src/server/images/requested-image.ts";
import { createLog } from "../../../src/server/log.ts";
import { TempFolder, TestClock } from "../../harness/running-server.ts";

const folder = new TempFolder();
afterAll(() => folder[Symbol.dispose]());
const files = join(folder.path, "images");
const { signal } = new AbortController();

const file = (path: string, text = "", executable = false): SentFile => ({ path, content: Buffer.from(text), executable });
const requested = (more: Partial<RequestedImage>): RequestedImage => ({
  ...{ environmentId: "env_1", base: "localhost/base:1", packages: [], workdir: "/app", files: [] },
  ...more,
});

test("the files that were sent are there while the image is built, and not afterwards", async () => {
  let seen: (readonly [string, string, number])[] = [];
  let spec: ImageSpec | undefined;
  const images = {
    resume: async () => undefined,
    async ensure(wish: { readonly spec: ImageSpec }) {
      spec = wish.spec;
      seen = wish.spec.files.map(({ path, source }) => [path, readFileSync(source, "utf8"), statSync(source).mode & 0o777]);
      return "localhost/svc/image:1";
    },
  };
  const wanted = requested({ packages: ["httpx>=0.27", "rich"], files: [file("a/b.py", "b"), file("run.sh", "r", true)] });
  expect(await buildRequested(images, files, wanted, signal)).toBe("localhost/svc/image:1");
  expect(seen).toEqual([
    ["a/b.py", "b", 0o600],
    ["run.sh", "r", 0o700],
  ]);
  expect(spec).toMatchObject({ base: "localhost/base:1", requirements: "httpx>=0.27\nrich", root: undefined, workdir: "/app", env: {} });
  expect(readdirSync(files)).toEqual([]);
  const failing = { ...images, ensure: () => Promise.reject(new Error("no")) };
  await expect(buildRequested(failing, files, wanted, signal)).rejects.toThrow("no");
  expect(readdirSync(files)).toEqual([]);
});

test.each([
  [{ base: "" }, "is no image"],
  [{ base: "host:" }, "nothing is made of it"],
  [{ packages: ["-r /etc/passwd"] }, "is no package of an image"],
  [{ packages: ["a\n--index-url=http://x"] }, "is no package of an image"],
  [{ packages: ["a;${PIP_INDEX_URL}"] }, "is no package of an image"],
  [{ packages: ["https://example.com/a.whl"] }, "is no package of an image"],
  [{ packages: ["../a"] }, "is no package of an image"],
  [{ packages: Array<string>(501).fill("a") }, "at most 500 packages"],
  [{ workdir: "app" }, "is no working folder"],
  [{ workdir: "/a/../b" }, "is no working folder"],
  [{ workdir: "", files: [file("a")] }, "none is named"],
  [{ files: [file("../a")] }, "is no path of a file"],
  [{ files: [file("/a")] }, "is no path of a file"],
  [{ files: [file("a"), file("a")] }, "is given to the image twice"],
  [{ files: Array.from({ length: 5_001 }, (_, at) => file(`${at}`)) }, "at most 5000 files"],
  [{ files: [file("a", "x".repeat(16 * 1024 * 1024 + 1))] }, "at most 16 MiB"],
] satisfies [Partial<RequestedImage>, string][])(
  "what no image is made of is refused before anything is written (%#)",
  async (more, said) => {
    const images = { resume: () => Promise.reject(new Error("begun")), ensure: () => Promise.reject(new Error("built")) };
    await expect(buildRequested(images, join(folder.path, "none"), requested(more), signal)).rejects.toThrow(said);
    expect(existsSync(join(folder.path, "none"))).toBe(false);
  },
);

test("an image that scaling groups are made of is kept, however many there are", async () => {
  const clock = new TestClock();
  const there = ["localhost/svc/image:1", "localhost/svc/image:2", "localhost/svc/image:3"];
  const removed: string[] = [];
  const engine: Partial<ContainerEngine> = {
    list: async () => [],
    images: async () => there.map((tag) => ({ id: tag, tags: [tag], labels: {}, env: {}, createdAt: 1 })),
    removeImage: async (name) => removed.push(name) > 0,
  };
  const images = createImages({
    ...{ engine: () => engine as ContainerEngine, builds: {} as never, env: {}, home: folder.path, folder: files, node: "node_1" },
    ...{ halted: () => signal, clock, log: createLog({ clock, write: () => undefined }), mostKept: 0 },
    needed: async () => new Set(["localhost/svc/image:2"]),
  });
  await images.resume();
  expect(removed.sort()).toEqual(["localhost/svc/image:1", "localhost/svc/image:3"]);
  await images.close();
});
