/** `svc dataset` against the real server. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { localName, partialName } from "../../src/dataset-files/download.ts";
import { tempFolder } from "../client/test-context.ts";
import { startCuttingProxy } from "../harness/cutting-proxy.ts";
import { type Platform, runCommand, startPlatform } from "./platform.ts";

const PART = 64 * 1024;
let platform: Platform;
const dir = tempFolder("svc-datasets-");

beforeAll(async () => {
  platform = await startPlatform();
});
afterAll(() => platform.server.stop());

const svc = (verb: string, words: readonly string[] = [], options: object = {}) =>
  runCommand(`dataset/${verb}`, words, { ...platform, dir, ...options });
const write = (name: string, content: string | Uint8Array): Uint8Array => {
  writeFileSync(join(dir, name), content);
  return readFileSync(join(dir, name));
};
const random = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length));

interface Uploaded {
  readonly dataset: { readonly id: string; readonly name: string };
  readonly revision: { readonly id: string; readonly number: number };
}

async function upload(name: string, ...files: string[]): Promise<Uploaded> {
  const done = await svc("upload", [...files, "--name", name, "--json"]);
  if (done.exitCode !== 0) throw new Error(done.stderr);
  return done.json() as Uploaded;
}

describe("a dataset", () => {
  test("is uploaded, listed, shown, renamed, downloaded and archived", async () => {
    write("a.csv", "id,name\n1,x\n2,\n");
    const done = await svc("upload", ["a.csv", "--name", "people"]);
    expect([done.exitCode, done.stdout]).toEqual([
      0,
      expect.stringMatching(
        /^Dataset: {3}people \(dst_[0-9a-f]{32}\)\nRevision: {2}rev_[0-9a-f]{32} \(number 1, 2 rows\)\nPage: {6}http:\/\/127\.0\.0\.1:\d+\/environments\/env_[0-9a-f]{32}\/datasets\/people\n$/,
      ),
    ]);
    expect(done.stderr).toContain("Uploading");
    const id = /rev_[0-9a-f]{32}/.exec(done.stdout)?.[0] ?? "";

    const listed = await svc("list", ["--search", "PEO"]);
    expect(listed.stdout).toMatch(/^ID +Name +Revisions +Updated\ndst_\w+ +people +1 +\S+\n$/);
    expect((await svc("list", ["--search", "nothing"])).stderr).toContain("No datasets found.");
    const shown = await svc("get", ["people"]);
    for (const line of [
      /^Dataset: +people$/m,
      /^id +int/m,
      /^name +str/m,
      /^a\.csv\.parquet +output +2 /m,
      /^ +1 +rev_\w+ +complete +upload +2 /m,
    ])
      expect(shown.stdout).toMatch(line);
    expect((await svc("get", [id, "--json"])).json()).toMatchObject({
      revision: { id, number: 1 },
      columns: [{ name: "id", type: "int" }, {}],
    });

    const renamed = await svc("rename", ["people", "folks"]);
    expect(renamed.stdout).toBe("Renamed dataset 'people' to 'folks'\n");
    const out = join(dir, "out");
    const got = await svc("download", [id, "--output-dir", out, "--include-givens"]);
    expect([got.exitCode, got.stdout]).toEqual([0, `${join(out, "a.csv")}\n${join(out, "a.csv.parquet")}\n`]);
    expect(readFileSync(join(out, "a.csv"), "utf8")).toBe("id,name\n1,x\n2,\n");

    expect((await svc("archive", [id], { input: ["n"] })).stderr).toContain("Aborted.");
    const archived = await svc("archive", [id], { input: ["y"] });
    expect(archived.stderr).toContain("(number 1 of 'folks', 2 rows)?");
    expect(archived.stdout).toMatch(/^Archived revision rev_\w+; its files are removed after \S+\n$/);
    expect((await svc("download", [id])).stderr).toContain("is archived, so its files cannot be read.");
    expect((await svc("get", [id])).stdout).toMatch(/^Removed: +its files are kept until /m);
  }, 300_000);

  test("of files in other folders has their names alone; two of one name are refused", async () => {
    const other = tempFolder("svc-datasets-");
    writeFileSync(join(other, "b.bin"), "b");
    write("b.bin", "b");
    expect((await svc("upload", [join(other, "b.bin"), "b.bin", "--name", "x"])).exitCode).toBe(2);
    const { revision } = await upload("elsewhere", join(other, "b.bin"));
    expect((await svc("get", [revision.id, "--json"])).json()).toMatchObject({ files: [{ name: "b.bin" }] });
  });

  test("is not made of what cannot be read", async () => {
    expect((await svc("upload", ["none.bin", "--name", "x"])).stderr).toContain("none.bin");
    expect((await svc("upload", [".", "--name", "x"])).stderr).toContain("is no file");
    write("empty.bin", "");
    expect((await svc("upload", ["empty.bin", "--name", "x"])).stderr).toContain("The file 'empty.bin' is empty.");
    expect((await svc("upload", ["empty.bin", "--name", "x", "--part-size", "0"])).exitCode).toBe(2);
    expect((await svc("list", ["--search", "x", "--json"])).json()).toEqual({ datasets: [] });
  });
});

describe("an upload over a bad network", () => {
  test("goes on with the same command, and one revision comes of it", async () => {
    const content = write("big.bin", random(45 * PART));
    const proxy = startCuttingProxy(platform.url, 10 * PART);
    const words = ["big.bin", "--name", "cut", "--part-size", String(20 * PART)];
    const env = { ...platform.env, SVC_API_SERVER: proxy.url };
    for (let runs = 0; ; runs++) {
      proxy.cutting = runs === 0;
      const done = await svc("upload", words, { env });
      if (done.exitCode === 0) break;
      expect(done.stderr).toContain("parts that arrived are not sent again");
      expect(runs).toBeLessThan(3);
    }
    expect(proxy.cuts).toBeGreaterThan(0);
    proxy.stop();
    const { revisions, revision } = (await svc("get", ["cut", "--json"])).json() as { revisions: unknown[]; revision: { id: string } };
    expect(revisions.length).toBe(1);
    const out = join(dir, "cut");
    await svc("download", [revision.id, "--output-dir", out]);
    expect(readFileSync(join(out, "big.bin")).equals(content)).toBe(true);
  }, 300_000);
});

describe("a download", () => {
  test("goes on where it was cut off, and one whose beginning is another begins anew", async () => {
    const content = write("long.bin", random(300_000));
    const { revision } = await upload("long", "long.bin");
    const sha256 = new Bun.CryptoHasher("sha256").update(content).digest("hex");
    for (const [folder, begun] of [
      ["same", content.subarray(0, 123_456)],
      ["other", random(50_000)],
      ["longer", random(400_000)],
    ] as const) {
      const out = join(dir, folder);
      expect((await svc("download", [revision.id, "--output-dir", out])).exitCode).toBe(0);
      const partial = join(tempFolder("svc-datasets-"), "in");
      await Bun.write(join(partial, partialName("long.bin", sha256)), begun);
      const seen: (string | null)[] = [];
      await using front = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch(request) {
          const url = new URL(request.url);
          if (url.pathname.startsWith("/v1/objects/")) seen.push(request.headers.get("range"));
          return fetch(`${platform.url}${url.pathname}${url.search}`, {
            method: request.method,
            headers: request.headers,
            body: request.body,
          });
        },
      });
      const env = { ...platform.env, SVC_API_SERVER: `http://127.0.0.1:${front.port}` };
      const done = await svc("download", [revision.id, "--output-dir", partial], { env });
      expect([done.exitCode, done.stderr]).toEqual([0, expect.not.stringContaining("Error")]);
      expect(readFileSync(join(partial, "long.bin")).equals(content)).toBe(true);
      expect(readdirSync(partial)).toEqual(["long.bin"]);
      if (folder === "same") expect(seen).toEqual(["bytes=123456-"]);
    }
  }, 300_000);

  test("writes over nothing, and through no link", async () => {
    write("c.bin", "new");
    const { revision } = await upload("over", "c.bin");
    const out = tempFolder("svc-datasets-");
    writeFileSync(join(out, "c.bin"), "old");
    const refused = await svc("download", [revision.id, "--output-dir", out]);
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("c.bin exists already, with other content")]);
    expect(readFileSync(join(out, "c.bin"), "utf8")).toBe("old");
    const linked = tempFolder("svc-datasets-");
    symlinkSync(join(out, "made-by-nobody"), join(linked, "c.bin"));
    expect((await svc("download", [revision.id, "--output-dir", linked])).exitCode).toBe(1);
    expect(existsSync(join(out, "made-by-nobody"))).toBe(false);
    writeFileSync(join(out, "c.bin"), "new");
    expect((await svc("download", [revision.id, "--output-dir", out])).exitCode).toBe(0);
  });

  test("of files with one content gets each of them", async () => {
    const names = Array.from({ length: 8 }, (_, at) => `same-${at}.bin`);
    for (const name of names) write(name, "0123456789".repeat(10_000));
    const { revision } = await upload("same", ...names);
    const out = tempFolder("svc-datasets-");
    expect((await svc("download", [revision.id, "--output-dir", out])).exitCode).toBe(0);
    expect(readdirSync(out).sort()).toEqual(names);
  });

  test.each([
    ["/etc/passwd", "passwd"],
    ["../../x", "x"],
    ["a\\b\\c.txt", "c.txt"],
    ["plain.parquet", "plain.parquet"],
  ])("gives a file that is called %j its last name", (given, name) => expect(localName(given)).toBe(name));

  test.each(["", ".", "..", "a/..", "x/", "a\0b", "a\u202eb", "CON", "a:b", "a.", "a".repeat(256)])("writes no file called %j", (given) => {
    expect(() => localName(given)).toThrow("no name for a file here");
  });
});

test("links are told one a line, or all as one document, and lead to the files", async () => {
  write("d.bin", "d");
  write("e.bin", "e");
  const { revision } = await upload("links", "d.bin", "e.bin");
  const lines = (await svc("stream-links", [revision.id])).stdout.trim().split("\n");
  expect(await Promise.all(lines.map(async (url) => (await fetch(url)).text()))).toEqual(["d", "e"]);
  const { links } = (await svc("stream-links", [revision.id, "--json"])).json() as {
    links: { name: string; url: string; bytes: number }[];
  };
  expect(links).toMatchObject([{ name: "d.bin", bytes: 1 }, { name: "e.bin" }]);
  expect((await svc("stream-links", ["rev_none"])).stderr).toContain("There is no dataset or revision 'rev_none'");
  for (const verb of ["stream-links", "download"])
    expect((await svc(verb, ["links"])).stderr).toContain(
      `'links' is a dataset, and one of its revisions is wanted.\nIts newest is ${revision.id}; \`svc dataset get links\` shows all.`,
    );
});
