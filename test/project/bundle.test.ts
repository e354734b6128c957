import { afterAll, describe, expect, test } from "bun:test";
import { utimes } from "node:fs/promises";
import { join } from "node:path";
import { bundleFiles, refuseUnpackable } from "../../src/project/bundle.ts";
import { listFiles } from "../../src/project/ignore.ts";
import { type Content, makeTree, removeTrees } from "./temp-tree.ts";

afterAll(removeTrees);

const LONG = `${"folder-with-a-long-name/".repeat(6)}${"f".repeat(90)}.py`;
const FILES: Record<string, Content> = {
  "features.py": "x = 1\n",
  "empty.py": "",
  "pkg/é 😀.py": "y = 2\n",
  "run.sh": { text: "#!/bin/sh\n", mode: 0o755 },
  [LONG]: "long\n",
  [`${"x".repeat(200)}.py`]: "longer\n",
  [`${"deep/".repeat(60)}a.py`]: "deepest\n",
  "data.bin": "z".repeat(2000),
};

async function bundle(root: string, limit?: number) {
  return await bundleFiles(root, await listFiles(root), limit);
}

describe("bundleFiles", () => {
  test("equal content gives equal bytes, whatever the times and places", async () => {
    const [first, second] = [await makeTree(FILES), await makeTree(Object.fromEntries(Object.entries(FILES).reverse()))];
    await utimes(join(second, "features.py"), 1, 1);
    const [a, b] = [await bundle(first), await bundle(second)];
    expect(a.sha256).toBe(b.sha256);
    expect(Buffer.compare(a.bytes, b.bytes)).toBe(0);
    expect(a.sha256).toBe(new Bun.CryptoHasher("sha256").update(a.bytes).digest("hex"));
    await Bun.write(join(second, "features.py"), "x = 2\n");
    expect((await bundle(second)).sha256).not.toBe(a.sha256);
  });

  test("other programs unpack it: tar, and Bun's archive", async () => {
    const root = await makeTree(FILES);
    const { bytes, files } = await bundle(root);
    const archive = await new Bun.Archive(bytes).files();
    expect([...archive.keys()].sort()).toEqual(Object.keys(FILES).sort());
    expect(files.map((file) => file.path)).toEqual(Object.keys(FILES).sort());
    const target = await makeTree();
    const unpacked = Bun.spawnSync(["tar", "-xzf", "-", "-C", target], { stdin: bytes });
    expect(unpacked.stderr.toString()).toBe("");
    for (const [path, content] of Object.entries(FILES)) {
      const text = typeof content === "string" ? content : "text" in content ? content.text : "";
      expect(await Bun.file(join(target, path)).text()).toBe(text);
      expect(await archive.get(path)?.text()).toBe(text);
    }
    const listing = Bun.spawnSync(["tar", "-tvzf", "-"], { stdin: bytes }).stdout.toString();
    expect(listing).toMatch(/-rwxr-xr-x .*run\.sh/);
    expect(listing).toMatch(/-rw-r--r-- .* 1970-01-01 .*features\.py/);
  });

  test("what a server would not unpack is refused here, before anything is read or sent", () => {
    const refusal = (paths: readonly string[]) => {
      try {
        refuseUnpackable(paths.map((path) => ({ path, size: 0 })));
      } catch (error) {
        return error as Error & { code: string; hint: string };
      }
      throw new Error("nothing was refused");
    };
    for (const [path, says] of [
      ["a\u0007b.txt", 'the path "a\\u0007b.txt" has characters that a path may not have'],
      ["a/b\nc", "characters that a path may not have"],
      ["back\\slash.py", "characters that a path may not have"],
      [`${"d/".repeat(520)}f`, "is too long"],
    ] as const) {
      expect(refusal(["fine.py", path])).toMatchObject({ code: "bundle_refused", message: expect.stringContaining(says) });
      expect(refusal(["fine.py", path]).hint).toContain(".svcignore");
    }
    const many = Array.from({ length: 25_000 }, (_, index) => `${index}/x`);
    refuseUnpackable(many.map((path) => ({ path, size: 0 })));
    expect(refusal([...many, "one-more"]).message).toContain("more than 50000 entries");
  });

  test("a project that is too large names its ten largest files", async () => {
    const root = await makeTree(Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`f${i}.bin`, "x".repeat(1024 * 1024 + i)])));
    const error = (await bundle(root, 3 * 1024 * 1024).catch((thrown: unknown) => thrown)) as Error & { hint: string; code: string };
    const [head = "", ...lines] = error.message.split("\n");
    expect(head).toBe("The project's files are 12.0 MiB, more than the 3.0 MiB that can be uploaded. The largest are:");
    expect(lines.map((line) => line.trim().split(/\s+/).at(-1))).toEqual(Array.from({ length: 10 }, (_, i) => `f${11 - i}.bin`));
    expect(error.hint).toBe("Name what the code does not need in .svcignore.");
    expect(error.code).toBe("bundle_too_large");
  });

  test("a file that is gone meanwhile is named", async () => {
    const root = await makeTree({ "a.py": "" });
    expect(bundleFiles(root, [{ path: "gone.py", size: 1 }])).rejects.toThrow(/^Cannot read gone\.py: /);
  });
});
