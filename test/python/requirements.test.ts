import { expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RequirementsError, readRequirements } from "../../src/python/requirements.ts";

const lines = async (text: string, root?: string) => (await readRequirements(text, root)).lines;
const hash = async (text: string, root?: string) => (await readRequirements(text, root)).sha256;

test("comments, blank lines and the SDK itself are dropped, continued lines joined", async () => {
  const text = [
    "\uFEFF# header",
    "",
    "numpy>=1.26  # why",
    "  pandas [ all ] == 2.0",
    "torch \\",
    "  ==2.1 \\",
    "  --hash=sha256:abc",
    "svc",
    "SVC==1.2",
    "svc[extra]>=1; python_version < '3.13'",
    "svc @ https://example.com/svc.whl",
    "svc-client==1",
    "svcs",
    "https://example.com/x.whl#sha256=abc",
  ].join("\r\n");
  expect(await lines(text)).toEqual([
    "numpy>=1.26",
    "pandas [ all ] == 2.0",
    "torch ==2.1 --hash=sha256:abc",
    "svc-client==1",
    "svcs",
    "https://example.com/x.whl#sha256=abc",
  ]);
});

test("every line knows where it stands, in the file that it was included from", async () => {
  const root = await mkdtemp(join(tmpdir(), "svc-req-"));
  try {
    await mkdir(join(root, "deps"));
    await writeFile(join(root, "deps", "base.txt"), "# base\r\nsix \\\r\n  ==1.16\r\nattrs\r\n");
    const found = await readRequirements("svc\n\nnumpy \\\n  >=1 \\\n  ,<3\n-r deps/base.txt\nlast", root, "requirements.txt");
    expect(found.lines.map((line, index) => [line, found.locations[index]])).toEqual([
      ["numpy >=1 ,<3", { file: "requirements.txt", line: 3 }],
      ["six ==1.16", { file: "deps/base.txt", line: 2 }],
      ["attrs", { file: "deps/base.txt", line: 4 }],
      ["last", { file: "requirements.txt", line: 7 }],
    ]);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});

test("texts that install the same have the same hash", async () => {
  expect(await hash("a==1\nb")).toBe(await hash("# x\r\n a==1  \nsvc\n\nb # y"));
  expect(await hash("")).toBe(await hash("svc\n# nothing\n"));
  expect(await hash("a==1\nb")).not.toBe(await hash("a==1\nc"));
  expect(await hash("a b")).not.toBe(await hash("a\nb"));
});

test("included files are put in place and constraint files count", async () => {
  const root = await mkdtemp(join(tmpdir(), "svc-req-"));
  try {
    await mkdir(join(root, "deps"));
    await writeFile(join(root, "deps", "base.txt"), "six\n-r more.txt\n-c limits.txt\n");
    await writeFile(join(root, "deps", "more.txt"), "attrs\nsvc\n");
    await writeFile(join(root, "deps", "limits.txt"), "six<2\n");
    expect(await lines("-r deps/base.txt\nlast", root)).toEqual(["six", "attrs", `-c ${join(root, "deps", "limits.txt")}`, "last"]);
    const before = await hash("--requirement=deps/base.txt", root);
    await writeFile(join(root, "deps", "limits.txt"), "six<1\n");
    expect(await hash("--requirement=deps/base.txt", root)).not.toBe(before);
    await writeFile(join(root, "deps", "more.txt"), "-r base.txt\n");
    await expect(lines("-r deps/base.txt", root)).rejects.toThrow("requirements include each other");
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});

test.each([
  ["-r missing.txt", "requirements name the file 'missing.txt', which is not among the project's files"],
  ["-r ../../etc/passwd", "requirements name the file '../../etc/passwd', which is outside the project"],
])("%s is refused", async (text, message) => {
  const failure = await readRequirements(text, tmpdir()).catch((error) => error);
  expect(failure).toBeInstanceOf(RequirementsError);
  expect(failure.message).toBe(message);
});

test("an included file needs a project", async () => {
  await expect(lines("-r base.txt")).rejects.toThrow("there is no project folder");
});
