import { join } from "node:path";
import { defineCommand } from "../../cli/command.ts";
import { optionalArg, path } from "../../cli/flag.ts";
import { protoFiles } from "../../contract/baked-proto-files.ts";
import { didYouMean } from "../../domain/closest.ts";
import { escapeControls } from "../../domain/name.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";

/** What was asked for: the names of the files, the text of one, or the folder that has them now. */
interface Shown {
  readonly files: readonly string[];
  readonly text?: string;
  readonly folder?: string;
}

export default defineCommand({
  summary: "Print or write the .proto files of the server's services",
  category: "This tool",
  description:
    "They are those of this version, with gRPC's own health and reflection services. Generators of clients (protoc, buf) take the folder that --out writes: " +
    "`protoc -I ./proto --python_out=. svc/v1/query.proto`. Calls go to the address that `svc config` prints as GRPC API Server, with the header `authorization: Bearer <token>`; " +
    "with reflection, grpcurl needs no files.",
  examples: [
    "svc docs proto",
    { run: "svc docs proto svc/v1/query.proto", does: "One file" },
    { run: "svc docs proto --out ./proto", does: "All of them, into a folder" },
  ],
  args: { file: optionalArg("file to print, by its name; left out: the names of all") },
  flags: { out: path("folder to write all files to", { placeholder: "<dir>" }) },
  check({ file, out }) {
    if (file !== undefined && out !== undefined)
      throw new UsageError("a file to print and --out exclude each other", { hint: "--out writes all files." });
  },
  async run({ machine }, { file, out }): Promise<Shown> {
    const texts = protoFiles();
    const files = Object.keys(texts);
    if (out !== undefined) {
      for (const [name, text] of Object.entries(texts)) await machine.writeFile(join(out, name), text);
      return { files, folder: out };
    }
    if (file === undefined) return { files };
    const text = Object.hasOwn(texts, file) ? texts[file] : undefined;
    if (text === undefined)
      throw new UsageError(`there is no file ${escapeControls(file)}`, { hint: didYouMean(file, files) || "`svc docs proto` lists them." });
    return { files: [file], text };
  },
  view: textView(({ files, folder, text }: Shown) => {
    if (folder !== undefined) return `Wrote ${files.length} files to ${escapeControls(folder)}`;
    return text === undefined ? files.join("\n") : text.trimEnd();
  }),
});
