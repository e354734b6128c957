/**
 * Descriptors that were read when the program was bundled do what the generated ones do, and keep
 * those out of a command that calls.
 */

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import {
  create,
  type DescField,
  type DescFile,
  type DescMessage,
  fromBinary,
  getOption,
  type MessageInitShape,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { ErrorCode, ErrorDetailSchema } from "../../gen/svc/v1/error_pb.ts";
import { Permission, permission, takes_credentials } from "../../gen/svc/v1/options_pb.ts";
import { messageText } from "../../src/client/message-text.ts";
import { createRedactor } from "../../src/client/redact.ts";
import { enumValueName, messageNamed, methodsOf } from "../../src/contract/contract.ts";
import { generatedCodeOf, SERVICES } from "../../src/contract/services.ts";
import { bundled } from "../../src/packaging/compile.ts";

const files = await Promise.all(
  Object.values(SERVICES).map(async (service) => {
    const module = (await import(join(import.meta.dir, "../../gen", generatedCodeOf(service)))) as Record<string, DescFile>;
    return Object.values(module).find(({ kind }) => kind === "file") as DescFile;
  }),
);
const services = files.flatMap((file) => file.services);

/** Every message that a call or an error can hold. */
const messages = new Map<string, DescMessage>();
const reach = (message: DescMessage) => {
  if (messages.has(message.typeName)) return;
  messages.set(message.typeName, message);
  for (const field of message.fields) if (field.message) reach(field.message);
};
for (const { input, output } of services.flatMap(({ methods }) => methods)) for (const message of [input, output]) reach(message);
reach(ErrorDetailSchema);

/** A value that no scalar has by default, another for each field. */
function scalarValue(type: ScalarType, seed: number) {
  switch (type) {
    case ScalarType.STRING:
      return `é${seed}`;
    case ScalarType.BOOL:
      return true;
    case ScalarType.BYTES:
      return new Uint8Array([seed % 256, 255]);
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return seed + 0.5;
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return 2n ** 33n + BigInt(seed);
    default:
      return seed;
  }
}

/**
 * A message with every field set, and of a oneof the case with the number `turn`; messages in it
 * are empty below `depth`.
 */
function filled(message: DescMessage, turn: number, depth = 3): MessageInitShape<DescMessage> {
  const one = (field: DescField): unknown => {
    if (field.message) return depth > 0 ? filled(field.message, turn, depth - 1) : {};
    return field.enum ? field.enum.values.at(-1)?.number : scalarValue(field.scalar as ScalarType, field.number + turn);
  };
  const value = (field: DescField): unknown => {
    if (field.fieldKind === "list") return [one(field), one(field)];
    if (field.fieldKind === "map") return { [String(scalarValue(field.mapKey, field.number))]: one(field), ["__proto__"]: one(field) };
    return one(field);
  };
  return Object.fromEntries(
    message.members.map((member) => {
      if (member.kind === "field") return [member.localName, value(member)];
      const field = member.fields[turn % member.fields.length] as DescField;
      return [member.localName, { case: field.localName, value: value(field) }];
    }),
  ) as MessageInitShape<DescMessage>;
}

const redactor = createRedactor();

describe("the contract as plain facts", () => {
  test("covers more than a hundred messages", () => expect(messages.size).toBeGreaterThan(100));

  test.each([...messages.keys()])("%s is made, written, read and shown as with the generated descriptor", (name) => {
    const generated = messages.get(name) as DescMessage;
    const known = messageNamed(name);
    for (const init of [{}, ...Array.from({ length: 20 }, (_, turn) => filled(generated, turn))]) {
      const message = create(generated, init);
      expect(create(known, init)).toStrictEqual(message);
      const bytes = toBinary(generated, message);
      expect(toBinary(known, message)).toEqual(bytes);
      expect(fromBinary(known, bytes)).toStrictEqual(fromBinary(generated, bytes));
      expect(messageText(redactor, known, message)).toBe(messageText(redactor, generated, message));
    }
  });

  test.each(services.map((service) => [service.typeName, service] as const))("%s has the methods of the contract", (name, service) => {
    const seen = methodsOf(name).map(({ input, output, ...method }) => ({ ...method, input: input.typeName, output: output.typeName }));
    expect(seen).toEqual(
      service.methods.map((method) => ({
        name: method.name,
        localName: method.localName,
        methodKind: method.methodKind,
        parent: { typeName: name, name: service.name },
        idempotent: method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS,
        isPublic: getOption(method, permission) === Permission.PUBLIC && !getOption(method, takes_credentials),
        input: method.input.typeName,
        output: method.output.typeName,
      })),
    );
  });

  test("values of an enum have their generated names, and unknown ones none", () => {
    for (const [name, number] of Object.entries(ErrorCode).filter((entry): entry is [string, ErrorCode] => typeof entry[1] === "number"))
      expect(enumValueName("svc.v1.ErrorCode", number)).toBe(name);
    expect(enumValueName("svc.v1.ErrorCode", 9_999)).toBeUndefined();
  });

  test("a name that is not in the contract is refused", () => {
    expect(() => messageNamed("svc.v1.Nothing")).toThrow("svc.v1.Nothing");
    expect(() => methodsOf("svc.v1.NoService")).toThrow("svc.v1.NoService");
  });
});

describe("what a command loads to call the server", () => {
  /**
   * Files in the chunks that come with a file, by the static imports of a bundle like the binary's.
   */
  const facts = { version: "", commit: "", builtAt: "", target: "", publicKey: "", releaseHost: "" };
  const bundle = Bun.build({ ...bundled(join(import.meta.dir, "../.."), facts), metafile: true }).then(({ metafile }) => {
    if (!metafile) throw new Error("the bundler told nothing");
    return metafile;
  });
  const loadedWith = async (file: string): Promise<string[]> => {
    const { outputs } = await bundle;
    const chunks = new Set<string>();
    const follow = (path: string) => {
      if (chunks.has(path)) return;
      chunks.add(path);
      for (const { path: next, kind } of outputs[path]?.imports ?? []) if (kind === "import-statement") follow(next);
    };
    const first = Object.keys(outputs).find((path) => Object.keys(outputs[path]?.inputs ?? {}).some((input) => input.endsWith(file)));
    if (first) follow(first);
    return [...chunks].flatMap((path) => Object.keys(outputs[path]?.inputs ?? {}));
  };
  const heavy = (inputs: readonly string[]) => inputs.filter((path) => /(^|\/)gen\/|descriptor_pb|registry|connectrpc/.test(path));

  test("the client comes without generated descriptors and without the Connect client", async () => {
    const loaded = await loadedWith("src/client/create.ts");
    expect(loaded).toContain("src/contract/contract.ts");
    expect(heavy(loaded)).toEqual([]);
  });

  test("of the commands, only those that run Python, write code of features or query come with them", async () => {
    const slow = new Set<string>();
    for (const path of new Bun.Glob("**/*.ts").scanSync(join(import.meta.dir, "../../src/commands")))
      if (path !== "index.ts" && heavy(await loadedWith(`src/commands/${path}`)).length > 0)
        slow.add(path.replace(/(\/.*)?\.ts$|\/.*$/, ""));
    expect([...slow].sort()).toEqual(["apply", "codegen", "doctor", "lint", "lsp", "mcp", "query"]);
  });

  test("a stream loads the Connect client", async () => expect(heavy(await loadedWith("src/client/stream.ts"))).not.toEqual([]));
});
