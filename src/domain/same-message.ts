/** Equality of messages, compared member by member as their schema has them. */

import type { DescField, DescMessage, MessageShape } from "@bufbuild/protobuf";

/** Whether two values of a member are equal. */
type Same = (one: unknown, other: unknown) => boolean;
type Members = Readonly<Record<string, unknown>>;
/** The value of a oneof. */
interface Chosen {
  readonly case: string | undefined;
  readonly value?: unknown;
}

/**
 * A test of whether two messages of a type have equal members, apart from messages of the type
 * `ignored`. It is quick, and may say no of equal ones, such as when a member is absent in one and
 * has its default in the other.
 */
export function sameBut<D extends DescMessage>(schema: D, ignored: DescMessage): (one: MessageShape<D>, other: MessageShape<D>) => boolean {
  const known = new Map<DescMessage, Same>([[ignored, () => true]]);
  return sameMessage(schema, known);
}

function sameMessage(schema: DescMessage, known: Map<DescMessage, Same>): Same {
  const found = known.get(schema);
  if (found) return found;
  const members: [name: string, same: Same][] = [];
  const same: Same = (one, other) => {
    if (one === other) return true;
    if (!isObject(one) || !isObject(other) || one.$unknown !== undefined || other.$unknown !== undefined) return false;
    for (const [name, sameMember] of members) {
      const [own, others] = [one[name], other[name]];
      if (own !== others && !sameMember(own, others)) return false;
    }
    return true;
  };
  known.set(schema, same);
  for (const member of schema.members) {
    if (member.kind === "field") {
      members.push([member.localName, sameField(member, known)]);
      continue;
    }
    const cases = new Map(member.fields.map((field) => [field.localName, sameField(field, known)]));
    members.push([
      member.localName,
      (one, other) => {
        const [own, others] = [one as Chosen, other as Chosen];
        if (own.case !== others.case) return false;
        return own.case === undefined || own.value === others.value || cases.get(own.case)?.(own.value, others.value) === true;
      },
    ]);
  }
  return same;
}

function sameField(field: DescField, known: Map<DescMessage, Same>): Same {
  if (field.message?.file.proto.package === "google.protobuf" && field.message.typeName.endsWith("Struct")) return isSame;
  const sameItem = field.message ? sameMessage(field.message, known) : isSame;
  if (field.fieldKind === "list") {
    return (one, other) => {
      const [own, others] = [one as readonly unknown[], other as readonly unknown[]];
      return own.length === others.length && own.every((item, index) => item === others[index] || sameItem(item, others[index]));
    };
  }
  if (field.fieldKind === "map") {
    return (one, other) => {
      const [own, others] = [one as Members, other as Members];
      const names = Object.keys(own);
      return (
        names.length === Object.keys(others).length &&
        names.every((name) => Object.hasOwn(others, name) && (own[name] === others[name] || sameItem(own[name], others[name])))
      );
    };
  }
  return sameItem;
}

/** Equality of what is no message: numbers, texts, flags, bytes. */
function isSame(one: unknown, other: unknown): boolean {
  return one === other || (one instanceof Uint8Array && other instanceof Uint8Array && equalBytes(one, other));
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null;
}

/** Whether two byte sequences are equal. */
export function equalBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
