/**
 * What the bundler changes of the Kafka client so that it runs in a binary, where no text becomes
 * code and nothing is loaded from folders.
 */

import { type Change, changeModules } from "./changed-module.ts";

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
export const kafkaClientPlugin = changeModules("Kafka client", CHANGES);
