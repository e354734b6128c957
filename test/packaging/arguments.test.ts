/** The command line of the build, and its keys: each mistake has a message of its own. */

import { describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSecretKey, parsePublicKey, parseSecretKey, publicKeyText, secretKeyText } from "../../src/domain/release/minisign.ts";
import { RELEASE_TARGETS } from "../../src/domain/release/target.ts";
import { parseBuildArguments } from "../../src/packaging/arguments.ts";
import { requiredSigningKey, signingKey, writeNewKey } from "../../src/packaging/signing-key.ts";
import { removeAtEnd } from "../harness/end-of-process.ts";

describe("arguments", () => {
  test("without any: every target, at the package's version", () => {
    const wanted = parseBuildArguments([], "1.2.3");
    expect(wanted).toMatchObject({
      single: false,
      version: "v1.2.3",
      level: 19,
      expiresDays: 90,
      baseUrl: "",
      deltasFrom: [],
      tables: true,
    });
    expect(parseBuildArguments(["--without-tables"], "1.2.3").tables).toBe(false);
    expect(wanted.targets).toEqual(RELEASE_TARGETS);
  });

  test("a version goes with and without v, a URL loses its last slashes, targets are named once", () => {
    const wanted = parseBuildArguments(
      ["--version=0.2.0", "--base-url=https://releases.example.com/svc//", "--targets=linux-arm64,darwin-arm64,linux-arm64"],
      "1.2.3",
    );
    expect(wanted).toMatchObject({ version: "v0.2.0", baseUrl: "https://releases.example.com/svc" });
    expect(wanted.targets?.map(({ name }) => name)).toEqual(["linux-arm64", "darwin-arm64"]);
  });

  test.each([
    ["--version=1.2", "--version=1.2: a version is like v0.2.0"],
    ["--version=v1.2.3-rc1", "a version is like v0.2.0"],
    ["--targets=linux-386", 'there is no target "linux-386"; there are linux-amd64, '],
    ["--targets=", 'there is no target ""'],
    ["--level=0", "--level=0: a whole number from 1 to 19"],
    ["--level=ultra", "a whole number from 1 to 19"],
    ["--expires-days=0", "a whole number from 1 to 3650"],
    ["--base-url=ftp://releases.example.com", "an http or https URL"],
    ['--base-url=https://a.example.com/"$(id)"', "an http or https URL"],
    ["--publihs=x", "--publihs"],
    ["--single --targets=linux-amd64,linux-arm64", "--single builds one target"],
    ["--single --publish=feed", "--publish means nothing with it"],
  ])("%s", (argv, message) => {
    expect(() => parseBuildArguments(argv.split(" "), "1.2.3")).toThrow(message);
  });
});

describe("the signing key", () => {
  const dir = mkdtempSync(join(tmpdir(), "svc-keys-"));
  removeAtEnd(dir);

  test("from the environment or a file; text wins", async () => {
    const [one, other] = [await createSecretKey(), await createSecretKey()];
    const file = join(dir, "from-file.key");
    writeFileSync(file, secretKeyText(one));
    expect((await requiredSigningKey({ SVC_SIGNING_KEY_FILE: file })).public).toEqual(one.public);
    expect((await requiredSigningKey({ SVC_SIGNING_KEY_FILE: file, SVC_SIGNING_KEY: secretKeyText(other) })).public).toEqual(other.public);
    expect(await signingKey({})).toBeUndefined();
  });

  test.each([
    [{}, "a release is signed, and there is no key: set SVC_SIGNING_KEY or SVC_SIGNING_KEY_FILE, or make a key"],
    [{ SVC_SIGNING_KEY: "hello" }, "SVC_SIGNING_KEY: this is no minisign secret key"],
    [{ SVC_SIGNING_KEY_FILE: join(dir, "none") }, "there is no such file"],
  ])("%j", async (env, message) => {
    await expect(requiredSigningKey(env)).rejects.toThrow(message);
  });

  test("one with a password is refused with the way to make another", async () => {
    const bytes = Buffer.from(secretKeyText(await createSecretKey()).split("\n")[1] ?? "", "base64");
    bytes.write("Sc", 2);
    await expect(requiredSigningKey({ SVC_SIGNING_KEY: bytes.toString("base64") })).rejects.toThrow("minisign -G -W");
  });

  test("a new one is private, fits its public half, and is never written over", async () => {
    const file = join(dir, "new.key");
    const shown = await writeNewKey(file);
    const key = await parseSecretKey(readFileSync(file, "utf8"));
    expect(shown).toBe(publicKeyText(key.public));
    expect(parsePublicKey(readFileSync(`${file}.pub`, "utf8"))).toEqual(key.public);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const before = readFileSync(file, "utf8");
    await expect(writeNewKey(file)).rejects.toThrow("a key is never overwritten");
    expect(readFileSync(file, "utf8")).toBe(before);
  });
});
