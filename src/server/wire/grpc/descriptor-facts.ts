/** What reflection tells; the binary has the result, not this file. */

import { join } from "node:path";
import { type DescExtension, type DescFile, type DescMessage, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

/** The files of the contract as descriptors, and where each name is defined. */
export interface DescriptorFacts {
  /** `google.protobuf.FileDescriptorProto` in base64 by the file's name. */
  readonly files: Readonly<Record<string, string>>;
  /** Names of the files that a file imports. */
  readonly imports: Readonly<Record<string, readonly string[]>>;
  /**
   * Name of the file that defines a service, method, message, field, enum or extension, by full
   * name.
   */
  readonly symbols: Readonly<Record<string, string>>;
  /** Name of the file that defines an extension, by the message that it extends and its number. */
  readonly extensions: Readonly<Record<string, Readonly<Record<number, string>>>>;
  /** Full names of the services. */
  readonly services: readonly string[];
}

/** The facts of all files in `gen` that this server serves. */
export async function descriptorFacts(): Promise<DescriptorFacts> {
  const gen = join(import.meta.dir, "../../../../gen");
  const facts = {
    files: {} as Record<string, string>,
    imports: {} as Record<string, string[]>,
    symbols: {} as Record<string, string>,
    extensions: {} as Record<string, Record<number, string>>,
    services: [] as string[],
  };
  const add = (file: DescFile): void => {
    const name = nameOf(file);
    if (name in facts.files) return;
    facts.files[name] = Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)).toString("base64");
    facts.imports[name] = file.dependencies.map(nameOf);
    const define = (symbol: string) => {
      facts.symbols[symbol] = name;
    };
    const defineMessage = (message: DescMessage) => {
      define(message.typeName);
      for (const field of message.fields) define(`${message.typeName}.${field.name}`);
      for (const one of message.nestedEnums) define(one.typeName);
      for (const one of message.nestedMessages) defineMessage(one);
    };
    for (const message of file.messages) defineMessage(message);
    for (const one of file.enums) define(one.typeName);
    for (const one of file.extensions) defineExtension(one, name);
    for (const service of file.services) {
      facts.services.push(service.typeName);
      define(service.typeName);
      for (const method of service.methods) define(`${service.typeName}.${method.name}`);
    }
    for (const dependency of file.dependencies) add(dependency);
  };
  const defineExtension = ({ extendee, number, typeName }: DescExtension, file: string) => {
    facts.symbols[typeName] = file;
    facts.extensions[extendee.typeName] = { ...facts.extensions[extendee.typeName], [number]: file };
  };
  for (const path of [...new Bun.Glob("{svc,grpc}/**/*_pb.ts").scanSync({ cwd: gen })].sort()) {
    const exported: Record<string, unknown> = await import(join(gen, path));
    for (const value of Object.values(exported)) if (isFile(value)) add(value);
  }
  facts.services.sort();
  return facts;
}

function nameOf({ name }: DescFile): string {
  return `${name}.proto`;
}

function isFile(value: unknown): value is DescFile {
  return typeof value === "object" && value !== null && (value as { kind?: unknown }).kind === "file";
}
