/** What the client needs to know of the contract; the binary has the result, not this file. */

import { join } from "node:path";
import {
  type DescEnum,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  type DescService,
  getOption,
} from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { ErrorDetailSchema } from "../../gen/svc/v1/error_pb.ts";
import { Permission, permission, takes_credentials } from "../../gen/svc/v1/options_pb.ts";
import { generatedCodeOf, SERVICES, type Service } from "./services.ts";

/**
 * Facts about the contract, by the names of its services and types, such as `svc.v1.WhoAmIRequest`.
 * Each is JSON of its own, because a command needs few of them.
 */
export interface ContractFacts {
  /** `MethodFacts[]` */
  readonly services: Readonly<Record<string, string>>;
  /** `FieldFacts[]` */
  readonly messages: Readonly<Record<string, string>>;
  /** `EnumFacts` */
  readonly enums: Readonly<Record<string, string>>;
}

/** A method; `input` and `output` are names of messages. */
export interface MethodFacts {
  readonly name: string;
  readonly localName: string;
  readonly methodKind: DescMethod["methodKind"];
  /** Whether it changes nothing, so that it can be retried. */
  readonly idempotent: boolean;
  /** Whether it is called without credentials, even when the caller has some. */
  readonly isPublic: boolean;
  readonly input: string;
  readonly output: string;
}

/**
 * The properties of a descriptor that are neither functions nor other descriptors; false ones are
 * left out.
 */
export type PlainFacts = Readonly<Record<string, string | number | true>>;

/** A field; its types and its oneof are given by name. */
export interface FieldFacts {
  readonly plain: PlainFacts;
  readonly message?: string | undefined;
  readonly enum?: string | undefined;
  readonly oneof?: string | undefined;
  /** Whether its value is a secret. */
  readonly debugRedact?: boolean | undefined;
}

/** An enum. */
export interface EnumFacts {
  readonly plain: PlainFacts;
  readonly values: readonly PlainFacts[];
}

/** The facts of all services, of their messages, and of the details of errors. */
export async function contractFacts(): Promise<ContractFacts> {
  const messages: Record<string, string> = {};
  const enums: Record<string, string> = {};
  const addEnum = (type: DescEnum) => {
    enums[type.typeName] ??= JSON.stringify({ plain: plain(type), values: type.values.map(plain) } satisfies EnumFacts);
  };
  const addMessage = ({ typeName, fields }: DescMessage) => {
    if (typeName in messages) return;
    messages[typeName] = JSON.stringify(fields.map(fieldFacts));
    for (const field of fields) {
      if (field.message) addMessage(field.message);
      if (field.enum) addEnum(field.enum);
    }
  };
  const descriptors = await Promise.all(Object.values(SERVICES).map(descriptorOf));
  const services = descriptors.map((service) => {
    const methods = service.methods.map((method): MethodFacts => {
      const { name, localName, methodKind, input, output } = method;
      addMessage(input);
      addMessage(output);
      return {
        name,
        localName,
        methodKind,
        idempotent: method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS,
        isPublic: getOption(method, permission) === Permission.PUBLIC && !getOption(method, takes_credentials),
        input: input.typeName,
        output: output.typeName,
      };
    });
    return [service.typeName, JSON.stringify(methods)] as const;
  });
  addMessage(ErrorDetailSchema);
  return { services: Object.fromEntries(services), messages, enums };
}

/** The generated descriptor of a service. */
async function descriptorOf(row: Service): Promise<DescService> {
  const exported: Record<string, DescService | DescFile> = await import(join(import.meta.dir, "../../gen", generatedCodeOf(row)));
  const found = exported[row.typeName.slice(row.typeName.lastIndexOf(".") + 1)];
  if (found?.kind !== "service") throw new Error(`gen/${generatedCodeOf(row)} has no ${row.typeName}`);
  return found;
}

function fieldFacts(field: DescField): FieldFacts {
  return {
    plain: plain(field),
    message: field.message?.typeName,
    enum: field.enum?.typeName,
    oneof: field.oneof?.localName,
    debugRedact: field.proto.options?.debugRedact,
  };
}

function plain(descriptor: DescField | DescEnum | DescEnum["values"][number]): PlainFacts {
  return Object.fromEntries(
    Object.entries(descriptor).filter(([, value]) => value === true || ["string", "number"].includes(typeof value)),
  );
}
