/** Equality of messages against that of their encoded content. */

import { expect, test } from "bun:test";
import { clone, create, type DescField, type DescMessage, fromBinary, isMessage, type Message, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { SpanSchema } from "../../gen/svc/v1/error_pb.ts";
import { FeatureSchema, ResolverSchema } from "../../gen/svc/v1/graph_pb.ts";
import { sameBut } from "../../src/domain/same-message.ts";
import { seed, seeded } from "../harness/seed.ts";

const DEEPEST = 5;

/** A random message of a type, from a source of numbers below a bound. */
function randomMessage(schema: DescMessage, below: (bound: number) => number, depth = 0): Message {
  const members: Record<string, unknown> = {};
  const item = (field: DescField): unknown => {
    if (field.message) return randomMessage(field.message, below, depth + 1);
    if (field.enum) return below(3);
    switch (field.scalar) {
      case 9:
        return ["", "a", "é"][below(3)];
      case 8:
        return below(2) === 1;
      case 12:
        return new Uint8Array([below(3), below(3)].slice(below(3)));
      case 3:
      case 4:
      case 18:
        return BigInt(below(3));
      default:
        return below(3);
    }
  };
  const value = (field: DescField): unknown => {
    if (field.fieldKind === "list") return Array.from({ length: below(3) }, () => item(field));
    if (field.fieldKind === "map") return Object.fromEntries(Array.from({ length: below(3) }, () => [`k${below(3)}`, item(field)]));
    return item(field);
  };
  for (const member of schema.members) {
    if (depth > DEEPEST && (member.kind === "oneof" || member.message)) continue;
    if (below(2) === 0) continue;
    if (member.kind === "field") members[member.localName] = value(member);
    else {
      const field = member.fields[below(member.fields.length)];
      if (field) members[member.localName] = { case: field.localName, value: value(field) };
    }
  }
  return create(schema, members);
}

function withoutSpans<T>(part: T): T {
  if (typeof part !== "object" || part === null || part instanceof Uint8Array) return part;
  if (Array.isArray(part)) return part.map(withoutSpans) as T;
  const members = Object.entries(part).filter(([, member]) => !isMessage(member, SpanSchema));
  return Object.fromEntries(members.map(([name, member]) => [name, withoutSpans(member)])) as T;
}

test.each([FeatureSchema, ResolverSchema].map((schema): [string, DescMessage] => [schema.name, schema]))(
  "messages are equal only if their encoded content is, spans aside: %s",
  (_name, schema) => {
    const same = sameBut(schema, SpanSchema);
    const told = { equal: 0, other: 0 };
    fc.assert(
      fc.property(fc.integer(), fc.nat(2), (start, steps) => {
        let state = start | 1;
        const below = (bound: number): number => {
          state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
          return (state >>> 8) % bound;
        };
        const one = randomMessage(schema, below);
        const copy = fromBinary(schema, toBinary(schema, one));
        expect(same(copy, clone(schema, copy))).toBe(true);
        const other = steps === 0 ? randomMessage(schema, below) : changed(copy, below);
        const bytes = [copy, other].map((message) => Buffer.from(toBinary(schema, withoutSpans(message))).toString("hex"));
        const isSame = same(copy, other);
        told[isSame ? "equal" : "other"]++;
        if (isSame) expect(bytes[1]).toBe(bytes[0] as string);
        expect(same(other, copy)).toBe(isSame);
      }),
      seeded(300),
    );
    expect(told.other, `seed ${seed}`).toBeGreaterThan(50);
  },
);

/** A copy of a message with one random member, however deep, changed. */
function changed(message: Message, below: (bound: number) => number): Message {
  const copy = structuredClone(message);
  const places: [holder: Record<string, unknown>, name: string][] = [];
  const walk = (part: unknown): void => {
    if (typeof part !== "object" || part === null || part instanceof Uint8Array) return;
    for (const [name, member] of Object.entries(part)) {
      if (name !== "$typeName" && name !== "case" && ["string", "number", "boolean"].includes(typeof member))
        places.push([part as Record<string, unknown>, name]);
      walk(member);
    }
  };
  walk(copy);
  const [holder, name] = places[below(places.length)] ?? [];
  if (!holder || name === undefined) return copy;
  const before = holder[name];
  holder[name] = typeof before === "string" ? `${before}x` : typeof before === "number" ? before + 1 : !before;
  return copy;
}
