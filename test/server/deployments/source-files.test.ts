import { expect, test } from "bun:test";
import { createSourceFiles, type SourceFile } from "../../../src/server/deployments/source-files.ts";
import { bundleOf } from "./deploying.ts";

const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

/** A store of these bundles by their digests, which counts how often one is read. */
function storeOf(...bundles: readonly Uint8Array<ArrayBuffer>[]) {
  const objects = new Map(bundles.map((bytes) => [sha256(bytes), new Blob([bytes])]));
  let reads = 0;
  return {
    reads: () => reads,
    put: (key: string, bytes: Uint8Array<ArrayBuffer>) => objects.set(key, new Blob([bytes])),
    size: async (key: string) => objects.get(key)?.size,
    async get(key: string) {
      reads++;
      return objects.get(key);
    },
  };
}
const missingOf = (file: SourceFile) => ("missing" in file ? file.missing : "it is there");

test("a file is read from the bundle, once for many that ask", async () => {
  const bundle = await bundleOf({ "a.py": "x = 1\n", "models/b.py": "é = 2\n" });
  const store = storeOf(bundle);
  const files = createSourceFiles(store);
  const deployment = { id: "dpl_1", layers: [], sourceSha256: sha256(bundle) };
  const found = await Promise.all(["a.py", "models/b.py", "a.py", "a.py"].map((path) => files.read(deployment, path)));
  expect(found).toEqual([{ text: "x = 1\n" }, { text: "é = 2\n" }, { text: "x = 1\n" }, { text: "x = 1\n" }]);
  expect(store.reads()).toBe(2);
});

test("what cannot be shown is told, with the way to get it", async () => {
  const noise = new Uint8Array(600_000);
  for (let at = 0; at < noise.length; at += 60_000) crypto.getRandomValues(noise.subarray(at, at + 60_000));
  const bundle = await bundleOf({ "a.py": "", "large.py": noise.toBase64() });
  const huge = new Uint8Array(17 * 1024 * 1024);
  const text = new TextEncoder().encode("no archive");
  const store = storeOf(bundle, huge, text);
  const files = createSourceFiles(store);
  const read = async (digest: string, path: string) => missingOf(await files.read({ id: "dpl_1", layers: [], sourceSha256: digest }, path));
  for (const path of ["none.py", "large.py", "../a.py", "/etc/passwd", "", "a.py/"])
    expect(await read(sha256(bundle), path)).toBe(`The source has no file ${path} that can be shown; \`svc source dpl_1\` downloads it.`);
  expect(await read(sha256(huge), "a.py")).toBe("The source is too large to be shown; `svc source dpl_1` downloads it.");
  expect(await read("0".repeat(64), "a.py")).toBe("The source is no longer in the object store.");
  expect(await read(sha256(text), "a.py")).toStartWith("The source cannot be read here (");
  store.put("2".repeat(64), bundle);
  expect(await read("2".repeat(64), "none.py")).toBe("The stored source is damaged. Deploy again with `svc apply`.");
  // None of them keeps the next one from being read.
  expect(await files.read({ id: "dpl_1", layers: [], sourceSha256: sha256(bundle) }, "a.py")).toEqual({ text: "" });
  const layers = [{ notebookId: "nb_1", path: "notebook_a.py", text: "of a notebook" }];
  expect(await files.read({ id: "dpl_1", layers, sourceSha256: sha256(bundle) }, "notebook_a.py")).toEqual({ text: "of a notebook" });
});
