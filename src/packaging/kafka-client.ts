/**
 * What the bundler changes of the Kafka client so that it runs in a binary, where no text becomes
 * code and nothing is loaded from folders.
 */

import { PackagingError } from "./packaging-error.ts";

/** A change of one module's source. */
interface Change {
  readonly file: RegExp;
  /** What it replaces, once: a build of another version fails. */
  readonly from: RegExp;
  readonly to: string;
  /** A line in front of the module. */
  readonly head?: string;
}

const CHANGES: readonly Change[] = [
  // The file with its checksums and compressions lies beside its sources; it comes into the binary.
  {
    file: /@platformatic[\\/]wasm-utils[\\/]dist[\\/]index\.js$/,
    from: /new URL\('[^']*native\.wasm', import\.meta\.url\)/,
    to: "nativeWasm",
    head: 'import nativeWasm from "./native.wasm" with { type: "file" };',
  },
  // A native addon that may lie in a folder is not looked for: the file does the same.
  {
    file: /@platformatic[\\/]kafka[\\/]dist[\\/]protocol[\\/]crc32c\.js$/,
    from: /loadNativeCRC32C\(\) \?\? /,
    to: "",
  },
  // Schemas of options, which it checks only when told to be strict, would become code.
  {
    file: /@platformatic[\\/]kafka[\\/]dist[\\/]utils\.js$/,
    from: /import \{ Ajv2020 \} from 'ajv\/dist\/2020\.js';/,
    to: "class Ajv2020 { addKeyword() {} compile() { return () => true; } }",
  },
  // Registries of schemas bring Avro and Protocol Buffers, and nothing here asks one.
  { file: /@platformatic[\\/]kafka[\\/]dist[\\/]registries[\\/]index\.js$/, from: /^[\s\S]*$/, to: "export {};" },
];

/** The plugin that makes the changes. */
export const kafkaClientPlugin: Bun.BunPlugin = {
  name: "Kafka client",
  setup(build) {
    for (const { file, from, to, head = "" } of CHANGES)
      build.onLoad({ filter: file }, async ({ path }) => {
        const source = await Bun.file(path).text();
        if (!from.test(source))
          throw new PackagingError(`${path} is not what it was: src/packaging/kafka-client.ts changes it for the binary`);
        return { contents: `${head}\n${source.replace(from, to)}`, loader: "js" };
      });
  },
};
