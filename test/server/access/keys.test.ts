/** The server's keys: their sources, and their rotation. */

import { describe, expect, test } from "bun:test";
import { chmodSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SignJWT } from "jose";
import { currentKey, isSignedBy, loadServerKeys, signWith } from "../../../src/server/access/keys.ts";
import { createObjectAddresses } from "../../../src/server/access/object-addresses.ts";
import { createTokens } from "../../../src/server/access/tokens.ts";
import { pageToken, readPageToken } from "../../../src/server/wire/services/page-token.ts";
import { TempFolder, TestClock, TestServer } from "../../harness/running-server.ts";

const key = (byte: number): string => new Uint8Array(32).fill(byte).toBase64();
const CALLER = { clientId: "c", teamId: "t", permissions: ["read"] };
const clock = new TestClock();
/** The tokens and addresses of a server with these keys. */
const serverOf = (...keys: string[]) => {
  const { tokens, objects, forms } = loadServerKeys("/nowhere", { SVC_SERVER_KEY: keys.join(",") });
  return { tokens: createTokens({ keys: tokens, clock }), addresses: createObjectAddresses({ keys: objects, clock }), objects, forms };
};
const withFile = (content: string | Uint8Array, mode = 0o600) => {
  const folder = new TempFolder();
  const path = join(folder.path, "keys");
  writeFileSync(path, content, { mode });
  return { path, [Symbol.dispose]: () => folder[Symbol.dispose]() };
};

describe("server keys", () => {
  test("the own file is made at first, private, and stays what it is", () => {
    using folder = new TempFolder();
    const path = join(folder.path, "server.key");
    const made = loadServerKeys(path);
    expect([made.isNew, statSync(path).mode & 0o777, readFileSync(path).length]).toEqual([true, 0o600, 32]);
    expect(loadServerKeys(path)).toEqual({ ...made, isNew: false });
  });

  test("a file of one raw key is the same key as its text", () => {
    using raw = withFile(new Uint8Array(32).fill(7));
    using text = withFile(`# the first\n${key(7)}\n`);
    expect(loadServerKeys(text.path)).toEqual(loadServerKeys(raw.path));
    expect(loadServerKeys("/nowhere", { SVC_SERVER_KEY_FILE: text.path })).toEqual(loadServerKeys(raw.path));
    expect(loadServerKeys("/nowhere", { SVC_SERVER_KEY: key(7) })).toEqual(loadServerKeys(raw.path));
  });

  test("the first key signs, all are taken, in the order of the file", () => {
    using file = withFile(`${key(1)} # new\n\n${key(2)}\r\n${key(3)}`);
    const { tokens } = loadServerKeys(file.path);
    expect(tokens.length).toBe(3);
    expect(new Set(tokens.map(({ id }) => id)).size).toBe(3);
    expect(tokens.every(({ id }) => /^[0-9a-f]{12}$/.test(id))).toBe(true);
    expect(tokens.map(({ secret }) => secret)).toEqual(
      [1, 2, 3].map((byte) => currentKey(loadServerKeys("/nowhere", { SVC_SERVER_KEY: key(byte) }).tokens).secret),
    );
  });

  test.each([
    ["no key", "# nothing\n", /has no key/],
    ["a key that is too short", new Uint8Array(31).toBase64(), /key 1 is not 32 bytes in base64/],
    ["a text that is no key", `${key(1)}\nnot base64!`, /key 2 is not 32 bytes in base64/],
    ["half a raw key", new Uint8Array(16).fill(200), /key 1 is not 32 bytes/],
    ["too many keys", Array.from({ length: 17 }, (_, n) => key(n)).join("\n"), /more than 16 keys/],
  ])("a file with %s is refused", (_name, content, message) => {
    using file = withFile(content);
    expect(() => loadServerKeys(file.path)).toThrow(message);
    expect(() => loadServerKeys("/nowhere", { SVC_SERVER_KEY_FILE: file.path })).toThrow(message);
  });

  test("a shared file may be a link and its group may read it, but not everybody; it is never made", () => {
    using file = withFile(key(1), 0o640);
    symlinkSync(file.path, `${file.path}-link`);
    expect(loadServerKeys("/nowhere", { SVC_SERVER_KEY_FILE: `${file.path}-link` }).isNew).toBe(false);
    expect(() => loadServerKeys(`${file.path}-link`)).toThrow();
    chmodSync(file.path, 0o644);
    expect(() => loadServerKeys("/nowhere", { SVC_SERVER_KEY_FILE: file.path })).toThrow(/can be read by everybody/);
    expect(() => loadServerKeys(file.path)).toThrow(/Others than its owner may read/);
    expect(() => loadServerKeys("/nowhere", { SVC_SERVER_KEY_FILE: `${file.path}-missing` })).toThrow(/cannot be read/);
  });

  test("two places for the keys are refused, and a wrong text is not repeated", () => {
    expect(() => loadServerKeys("/nowhere", { SVC_SERVER_KEY_FILE: "/x", SVC_SERVER_KEY: key(1) })).toThrow(
      /Both SVC_SERVER_KEY_FILE and SVC_SERVER_KEY/,
    );
    expect(() => loadServerKeys("/nowhere", { SVC_SERVER_KEY: "s3cret" })).toThrow(
      /^SVC_SERVER_KEY of the environment cannot be used: key 1 /,
    );
  });
});

describe("changing a key", () => {
  test("what the old key signed is taken until it is removed, and the new one signs", async () => {
    const [before, during, after] = [serverOf(key(1)), serverOf(key(2), key(1)), serverOf(key(2))];
    const token = await before.tokens.issue(CALLER);
    const url = new URL(before.addresses.sign("get", "a".repeat(64), 1).url, "http://x");
    const page = pageToken(before.objects, "list", "cursor");
    expect(await during.tokens.verify(token)).toEqual(CALLER);
    expect(during.addresses.check(url)).toMatchObject({ operation: "get" });
    expect(readPageToken(during.objects, "list", page)).toBe("cursor");
    expect(isSignedBy(during.forms, ["x"], signWith(before.forms, ["x"]))).toBe(true);
    await expect(after.tokens.verify(token)).rejects.toThrow("The access token is not valid on this server.");
    expect(after.addresses.check(url)).toHaveProperty("refused");
    expect(() => readPageToken(after.objects, "list", page)).toThrow("does not belong");
    const fresh = await during.tokens.issue(CALLER);
    expect(await after.tokens.verify(fresh)).toEqual(CALLER);
    await expect(before.tokens.verify(fresh)).rejects.toThrow("not valid");
  });

  test("a key's id does not make a signature of another key good", () => {
    const [one, two] = [serverOf(key(1)).objects, serverOf(key(2)).objects];
    const [, mac] = signWith(one, ["x"]).split(".");
    expect(isSignedBy(two, ["x"], `${currentKey(two).id}.${mac}`)).toBe(false);
    expect(isSignedBy([...two, ...one], ["x"], `${currentKey(two).id}.${mac}`)).toBe(false);
    for (const signature of ["", ".", "..", `.${mac}`, `${currentKey(one).id}.`]) expect(isSignedBy(one, ["x"], signature)).toBe(false);
  });

  test("what a version signed that named no key goes on, also when a new key is put in front", async () => {
    using folder = new TempFolder();
    const path = join(folder.path, "server.key");
    const old = loadServerKeys(path);
    const secret = currentKey(old.tokens).secret;
    const now = Math.floor(clock.now() / 1000);
    const token = await new SignJWT({ team: "t", permissions: ["read"] })
      .setProtectedHeader({ alg: "HS256", typ: "JWT" })
      .setIssuer("svc")
      .setAudience("svc-api")
      .setSubject("c")
      .setIssuedAt(now)
      .setExpirationTime(now + 60)
      .sign(secret);
    const signature = signWith(old.objects, ["x"]).split(".")[1] ?? "";
    writeFileSync(path, `${key(1)}\n${readFileSync(path).toBase64()}\n`);
    for (const keys of [old, loadServerKeys(path)]) {
      expect(await createTokens({ keys: keys.tokens, clock }).verify(token)).toEqual(CALLER);
      expect(isSignedBy(keys.objects, ["x"], signature)).toBe(true);
    }
  });

  test("servers with the same keys take each other's tokens", async () => {
    using folder = new TempFolder();
    await using server = await TestServer.start(folder.path, { env: { ...process.env, SVC_SERVER_KEY: key(9) } });
    const { tokens } = serverOf(key(8), key(9));
    expect(await tokens.verify(await server.token())).toMatchObject({ clientId: server.credentials.clientId });
  });
});
