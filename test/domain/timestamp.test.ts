import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { msToTimestamp, timestampToMicros } from "../../src/domain/proto-time.ts";
import {
  canonicalInstant,
  formatInstant,
  formatMicros,
  formatTimestamp,
  parseInstant,
  parseTimestamp,
} from "../../src/domain/timestamp.ts";
import { seeded } from "../harness/seed.ts";

const FIRST = -62_135_596_800_000_000n;
const LAST = 253_402_300_799_999_999n;
const micros = fc.bigInt({ min: FIRST, max: LAST });

describe("parseInstant", () => {
  const right: Record<string, string> = {
    "2024-05-01T12:00:00Z": "2024-05-01T12:00:00.000000Z",
    "2024-05-01 12:00:00.5": "2024-05-01T12:00:00.500000Z",
    "2024-05-01": "2024-05-01T00:00:00.000000Z",
    "2024-05-01T12:00+02:00": "2024-05-01T10:00:00.000000Z",
    "2024-05-01T12:00:00,123456789-0530": "2024-05-01T17:30:00.123456Z",
    "2024-02-29T23:59:59 +01": "2024-02-29T22:59:59.000000Z",
    "0001-01-01T00:00:00Z": "0001-01-01T00:00:00.000000Z",
    "9999-12-31T23:59:59.999999Z": "9999-12-31T23:59:59.999999Z",
    "1969-12-31T23:59:59.999999Z": "1969-12-31T23:59:59.999999Z",
  };
  for (const [text, canonical] of Object.entries(right))
    test(`'${text}'`, () => expect(formatMicros(parseInstant(text)?.micros ?? 0n)).toBe(canonical));

  const wrong = [
    "",
    "now",
    "2024-13-01",
    "2024-00-10",
    "2023-02-29",
    "2024-05-32",
    "2024-05-01T24:00:00Z",
    "2024-05-01T12:60:00Z",
    "2024-05-01T12:00:60Z",
    "2024-05-01T12Z",
    "2024-5-1",
    "0000-01-01",
    "0001-01-01T00:00:00+01:00",
    "9999-12-31T23:59:59-01:00",
    "2024-05-01T12:00:00+25:00",
    "2024-05-01T12:00:00+01:75",
    "2024-05-01T12:00:00 UTC",
  ];
  for (const text of wrong) test(`no instant: '${text}'`, () => expect(parseInstant(text)).toBeUndefined());

  test("says whether there was a zone", () => {
    expect(["2024-05-01", "2024-05-01T00:00:00", "2024-05-01Z"].map((text) => parseInstant(text)?.zoned)).toEqual([false, false, true]);
  });
});

describe("canonical text", () => {
  test("is read back to the same microsecond, and always 27 long", () => {
    fc.assert(
      fc.property(micros, (value) => {
        const text = formatMicros(value);
        expect(text).toHaveLength(27);
        expect(parseInstant(text)).toEqual({ micros: value, zoned: true });
      }),
      seeded(2000),
    );
  });

  test("its order as text is the order in time", () => {
    fc.assert(
      fc.property(micros, micros, (a, b) => {
        const [left, right] = [formatMicros(a), formatMicros(b)];
        expect(left < right).toBe(a < b);
        expect(left === right).toBe(a === b);
      }),
      seeded(2000),
    );
  });

  test("an offset shifts by itself", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: FIRST + 10n ** 11n, max: LAST - 10n ** 11n }),
        fc.integer({ min: -1439, max: 1439 }),
        (value, minutes) => {
          const zone = `${minutes < 0 ? "-" : "+"}${String(Math.floor(Math.abs(minutes) / 60)).padStart(2, "0")}:${String(Math.abs(minutes) % 60).padStart(2, "0")}`;
          expect(parseInstant(formatMicros(value).replace("Z", zone))?.micros).toBe(value - BigInt(minutes) * 60_000_000n);
        },
      ),
      seeded(500),
    );
  });
});

describe("parseTimestamp", () => {
  const now = Date.UTC(2024, 4, 1, 12);
  test("absolute and relative", () => {
    const read = (text: string) => parseTimestamp(text, { now });
    expect(read("2024-05-01T12:00:00.5Z")).toBe(now + 500);
    expect(read("1969-12-31T23:59:59.9999Z")).toBe(-0.1);
    expect(read("now")).toBe(now);
    for (const text of ["24h", "-24h", "24h ago", " 1d "]) expect(read(text)).toBe(now - 86_400_000);
    for (const text of ["", "ago", "soon", "infinity", "--24h"]) expect(read(text)).toBeUndefined();
  });

  test("microseconds come through to the wire", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_102_444_800_000_000 }), (micros) => {
        const ms = parseTimestamp(formatMicros(micros), { now });
        expect(timestampToMicros(msToTimestamp(ms ?? Number.NaN))).toBe(BigInt(micros));
      }),
      seeded(500),
    );
    expect(parseTimestamp("9999-12-31T23:59:59.999999Z", { now })).toBe(253_402_300_799_999);
  });

  test("a zone can be demanded", () => {
    const read = (text: string) => parseTimestamp(text, { now, requireZone: true });
    expect(read("2024-05-01T12:00:00Z")).toBe(now);
    for (const text of ["2024-05-01T12:00:00", "2024-05-01", "24h", "now"]) expect(read(text)).toBeUndefined();
  });
});

test("formatTimestamp drops needless digits only", () => {
  expect([0, 500, 250, 10, 600_000].map(formatTimestamp)).toEqual([
    "1970-01-01T00:00:00Z",
    "1970-01-01T00:00:00.5Z",
    "1970-01-01T00:00:00.25Z",
    "1970-01-01T00:00:00.01Z",
    "1970-01-01T00:10:00Z",
  ]);
});

test("formatInstant drops needless digits only", () => {
  expect([0n, 500_000n, 1n, 120n, 600_000_000n, -1n].map(formatInstant)).toEqual([
    "1970-01-01T00:00:00Z",
    "1970-01-01T00:00:00.5Z",
    "1970-01-01T00:00:00.000001Z",
    "1970-01-01T00:00:00.00012Z",
    "1970-01-01T00:10:00Z",
    "1969-12-31T23:59:59.999999Z",
  ]);
});

test("canonicalInstant is parseInstant written out, for whatever looks like a time", () => {
  const two = fc.integer({ min: 0, max: 99 }).map((n) => String(n).padStart(2, "0"));
  const near = fc
    .tuple(
      fc.constantFrom("0000", "0001", "1900", "2000", "2023", "2024", "9999"),
      two,
      two,
      two,
      two,
      two,
      fc.stringMatching(/^(\.\d{0,8})?$/),
      fc.constantFrom("T", " "),
      fc.constantFrom("Z", "", "z", "+01:00"),
    )
    .map(
      ([year, month, day, hour, minute, second, fraction, t, zone]) =>
        `${year}-${month}-${day}${t}${hour}:${minute}:${second}${fraction}${zone}`,
    );
  const small = fc
    .tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 27, max: 32 }), fc.integer({ min: 20, max: 24 }))
    .map(([month, day, hour]) => {
      const pad = (n: number) => String(n).padStart(2, "0");
      return `2023-${pad(month)}-${pad(day)}T${pad(hour)}:00:00Z`;
    });
  const written = fc.oneof(near, small, micros.map(formatMicros), fc.string({ minLength: 18, maxLength: 28 }));
  fc.assert(
    fc.property(written, (text) => {
      const instant = parseInstant(text);
      expect(canonicalInstant(text)).toBe(instant && formatMicros(instant.micros));
    }),
    seeded(3_000),
  );
});
