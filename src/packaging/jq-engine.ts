/**
 * What the bundler changes of jq's engine: it copied all of the input for each byte that jq read,
 * and all of the output for each one that it wrote, forgot an error that came after output, and had
 * the path of its own folder, which is that of the build.
 */

import { type Change, changeModules } from "./changed-module.ts";

const INPUT_AND_OUTPUT = `let input = new Uint8Array(0), at = 0, printed = [], complained = [];
const textOf = (bytes) => new TextDecoder("utf-8").decode(Uint8Array.from(bytes)).trim();
const writer = (bytes) => (byte) => { if (byte !== null && byte !== undefined) bytes().push(byte); };
Module = {
  ...Module, noInitialRun: true, noExitRuntime: true, onRuntimeInitialized() { runtimeInitResolve(); }, printErr() {},
  preRun() { FS.init(() => (at < input.length ? input[at++] : null), writer(() => printed), writer(() => complained)); },
  raw(jsonString, query, flags = []) {
    return runtimeInitPromise.then(() => {
      [input, at, printed, complained] = [toByteArray(jsonString), 0, [], []];
      const status = Module.callMain(["-M", ...flags, query, "/dev/stdin"]);
      if (status !== 0) throw new Error(textOf(complained));
      return textOf(printed);
    });
  },
};`;

const CHANGES: readonly Change[] = [
  {
    file: /jq-wasm[\\/]dist[\\/]build[\\/]jq\.js$/,
    from: /function rawImpl\([\s\S]*?rawImpl\(jsonString, query, flags\)\); \} \};([\s\S]*?)scriptDirectory = __dirname \+ "\/";/,
    to: `${INPUT_AND_OUTPUT.replaceAll("$", "$$$$")}$1`,
    head: 'var __filename = "";',
  },
];

/** The plugin that makes the changes. */
export const jqEnginePlugin = changeModules("jq", CHANGES);
