import { expect, test } from "bun:test";
import fc from "fast-check";
import { compareVersions } from "../../src/domain/version.ts";
import { seeded } from "../harness/seed.ts";

test("versions are in order", () => {
  const ordered = [
    "",
    "beta",
    "stable",
    "0.9",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "v1.0.1",
    "1.9.0",
    "1.10.0",
    "2",
    "2.0.1",
    "2024.5.1",
    "99999999999999999999.0",
  ];
  for (const [at, one] of ordered.entries())
    for (const [other, version] of ordered.entries())
      expect([one, version, Math.sign(compareVersions(one, version))]).toEqual([one, version, Math.sign(at - other)]);
});

const part = fc.constantFrom("0", "1", "01", "2", "10", "a", "rc", "B");
const version = fc
  .tuple(fc.constantFrom("", "v"), fc.array(part, { maxLength: 3 }), fc.array(part, { maxLength: 2 }))
  .map(([prefix, numbers, stages]) => prefix + numbers.join(".") + (stages.length > 0 ? `-${stages.join(".")}` : ""));

test("any three versions have one order, and only equal ones are none before the other", () => {
  fc.assert(
    fc.property(version, version, version, (a, b, c) => {
      expect(Math.sign(compareVersions(a, b)) + Math.sign(compareVersions(b, a))).toBe(0);
      expect(compareVersions(a, b) === 0).toBe(a === b);
      if (compareVersions(a, b) <= 0 && compareVersions(b, c) <= 0) expect(compareVersions(a, c)).toBeLessThanOrEqual(0);
    }),
    seeded(2_000),
  );
});

test("as Bun orders semantic versions", () => {
  const number = fc.integer({ min: 0, max: 12 });
  const semantic = fc
    .tuple(number, number, number, fc.array(fc.constantFrom("alpha", "beta", "1", "2", "11"), { maxLength: 3 }))
    .map(([major, minor, patch, stages]) => `${major}.${minor}.${patch}${stages.length > 0 ? `-${stages.join(".")}` : ""}`);
  fc.assert(
    fc.property(semantic, semantic, (a, b) => {
      expect(Math.sign(compareVersions(a, b))).toBe(Bun.semver.order(a, b));
    }),
    seeded(2_000),
  );
});
