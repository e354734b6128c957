import { describe, expect, test } from "bun:test";
import { createSealer } from "../../../src/server/access/sealing.ts";

const key = (fill: number) => ({ id: `key${fill}`, secret: new Uint8Array(32).fill(fill) });
const CONTEXT = ["env_1", "secret", "sec_1"];

describe("sealing", () => {
  test("a value is opened in its context, is another text each time, and shows nothing of itself", async () => {
    const sealer = createSealer([key(1)]);
    for (const text of ["", "hunter2", "ü\u0000\n".repeat(1000)]) {
      const [a, b] = [await sealer.seal(text, CONTEXT), await sealer.seal(text, CONTEXT)];
      expect(a).not.toBe(b);
      expect(await sealer.open(a, CONTEXT)).toBe(text);
      if (text) expect(a).not.toContain(text);
    }
  });

  test("in another context, changed in any character, or under another key it is refused", async () => {
    const sealer = createSealer([key(1)]);
    const sealed = await sealer.seal("hunter2", CONTEXT);
    const refused = { kind: "failed_precondition" };
    await expect(sealer.open(sealed, ["env_2", "secret", "sec_1"])).rejects.toMatchObject(refused);
    await expect(sealer.open(sealed, ["env_1", "secretsec_1"])).rejects.toMatchObject(refused);
    for (let at = 0; at < sealed.length; at++) {
      const changed = `${sealed.slice(0, at)}${sealed[at] === "A" ? "B" : "A"}${sealed.slice(at + 1)}`;
      const opened = await sealer.open(changed, CONTEXT).catch(() => undefined);
      // The last character of base64url may have bits that stand for nothing.
      if (opened !== undefined) expect([opened, at]).toEqual(["hunter2", sealed.length - 1]);
    }
    await expect(createSealer([key(2)]).open(sealed, CONTEXT)).rejects.toMatchObject(refused);
    await expect(sealer.open("hunter2", CONTEXT)).rejects.toMatchObject(refused);
  });

  test("after a rotation old values are opened and new ones are sealed with the new key", async () => {
    const old = createSealer([key(1)]);
    const sealed = await old.seal("hunter2", CONTEXT);
    const rotated = createSealer([key(2), key(1)]);
    expect(await rotated.open(sealed, CONTEXT)).toBe("hunter2");
    expect([old.isCurrent(sealed), rotated.isCurrent(sealed)]).toEqual([true, false]);
    const anew = await rotated.seal("hunter2", CONTEXT);
    expect(rotated.isCurrent(anew)).toBe(true);
    await expect(old.open(anew, CONTEXT)).rejects.toMatchObject({ kind: "failed_precondition" });
  });
});
