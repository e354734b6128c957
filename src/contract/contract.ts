/**
 * The descriptors of the contract, as far as encoding and decoding messages need them. The
 * generated code decodes all descriptors when it is loaded, which takes longer than the rest of a
 * call; the facts here are read when the program is bundled, and a message's descriptor is built on
 * first use.
 */

import type { DescEnum, DescField, DescMessage, DescMethod, DescOneof, Message } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import { facts } from "./baked-facts.ts";
import type { EnumFacts, FieldFacts, MethodFacts } from "./contract-facts.ts";

/** A method of the server. */
export interface Method<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly name: string;
  /** Its name in a client. */
  readonly localName: string;
  readonly methodKind: DescMethod["methodKind"];
  /** The service; its names are, for example, `svc.v1.AuthService` and `AuthService`. */
  readonly parent: { readonly typeName: string; readonly name: string };
  readonly input: I;
  readonly output: O;
  /** Whether it changes nothing, so that it can be retried. */
  readonly idempotent: boolean;
  /** Whether it can be called without credentials. */
  readonly isPublic: boolean;
}

/**
 * The number of proto3 in `google.protobuf.Edition`: all files of the contract, and Google's that
 * it imports, are proto3.
 */
const FILE = { edition: 999 };

const messages = new Map<string, DescMessage>();
const enums = new Map<string, DescEnum>();

/** The methods of a service, in the order of the contract. */
export function methodsOf(service: string): readonly Method[] {
  const parent = { typeName: service, name: service.slice(service.lastIndexOf(".") + 1) };
  return found<readonly MethodFacts[]>(facts.services, service).map(({ input, output, ...method }) => ({
    ...method,
    parent,
    get input() {
      return messageNamed(input);
    },
    get output() {
      return messageNamed(output);
    },
  }));
}

/** The descriptor of a message. */
export function messageNamed<T extends Message>(typeName: T["$typeName"]): GenMessage<T> {
  const known = messages.get(typeName);
  if (known) return known as GenMessage<T>;
  const parts = { kind: "message", typeName, file: FILE, fields: [], members: [], oneofs: [], toString: () => `message ${typeName}` };
  const message = parts as never as GenMessage<T>;
  messages.set(typeName, message);
  addFields(message, found(facts.messages, typeName));
  return message;
}

/** The generated name of an enum's value; undefined for a value of a newer contract. */
export function enumValueName(typeName: string, number: number): string | undefined {
  return enumNamed(typeName).value[number]?.localName;
}

/**
 * An enum's value for people and `--json`: its name in lower case, null when it is unspecified, its
 * number when it is of a newer contract.
 */
export function formatEnum(typeName: string, number: number): string | number | null {
  const name = enumValueName(typeName, number);
  return name === undefined ? number : name === "UNSPECIFIED" ? null : name.toLowerCase();
}

function addFields(message: DescMessage, facts: readonly FieldFacts[]): void {
  const groups = new Set(facts.flatMap(({ oneof }) => oneof ?? []));
  const oneofs = new Map(
    [...groups].map((localName) => [localName, { kind: "oneof", localName, parent: message, fields: [] } as never as DescOneof]),
  );
  for (const fact of facts) {
    const field = {
      ...fact.plain,
      parent: message,
      proto: { options: { debugRedact: fact.debugRedact } },
      message: fact.message === undefined ? undefined : messageNamed(fact.message),
      enum: fact.enum === undefined ? undefined : enumNamed(fact.enum),
      oneof: fact.oneof === undefined ? undefined : oneofs.get(fact.oneof),
      getDefaultValue: () => undefined,
      toString: () => `field ${message.typeName}.${fact.plain.name}`,
    } as never as DescField;
    message.fields.push(field);
    field.oneof?.fields.push(field);
  }
  message.oneofs.push(...oneofs.values());
  message.members.push(...new Set(message.fields.map((field) => field.oneof ?? field)));
}

function enumNamed(typeName: string): DescEnum {
  const known = enums.get(typeName);
  if (known) return known;
  const { plain, values } = found<EnumFacts>(facts.enums, typeName);
  const value = Object.fromEntries(values.map((one) => [one.number, one]));
  const made = { ...plain, values, value, toString: () => `enum ${typeName}` } as never as DescEnum;
  enums.set(typeName, made);
  return made;
}

function found<T>(things: Readonly<Record<string, string>>, name: string): T {
  const thing = things[name];
  if (thing === undefined) throw new Error(`the contract has no ${name}`);
  return JSON.parse(thing) as T;
}
