import { basename, join } from "node:path";
import { defineCommand } from "../../cli/command.ts";
import { choice, path, text } from "../../cli/flag.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";
import { chosenFeatures, GRAPH_DESCRIPTION, graphFlags } from "./graph-flags.ts";
import { overwriteFlags, refuseForeign } from "./out-flags.ts";

/** The files that were written, and those of classes that are gone. */
interface Written {
  readonly written: readonly string[];
  readonly removed: readonly string[];
}

export default defineCommand({
  summary: "Generate Java classes",
  description: `One file for each feature class, and a client that needs Java 11 or newer and nothing else. Files of an earlier run whose class is gone are removed. ${GRAPH_DESCRIPTION}`,
  examples: [
    "svc codegen java --out src/main/java/com/example/features",
    "svc codegen java --out features --package com.example --naming snake",
  ],
  flags: {
    out: path("folder to write to", { required: true, placeholder: "<folder>" }),
    ...overwriteFlags,
    package: text("package of the files", {
      placeholder: "<name>",
      defaultText: "that of the folder's files, else its path below src/main/java, else its name",
    }),
    naming: choice("how members are named", ["camel", "snake"], { aliases: ["--case"], defaultText: "camel" }),
    ...graphFlags,
  },
  check({ out }) {
    if (out === "-") throw new UsageError("--out is a folder: one file is written for each class");
  },
  async run(context, input): Promise<Written> {
    const { machine } = context;
    const { out } = input;
    const [{ generateJava, isJavaPackage, javaPackageOf }, { firstAmong, neighbours }, { isGenerated }] = await Promise.all([
      import("../../codegen/java.ts"),
      import("../../codegen/neighbours.ts"),
      import("../../codegen/mark.ts"),
    ]);
    const beside = async (): Promise<string> =>
      (await firstAmong(neighbours(out, ".java"), ({ text: source }) => javaPackageOf(source))) ?? packageOfFolder(out, isJavaPackage);
    const name = input.package ?? (await beside());
    if (!isJavaPackage(name))
      throw new UsageError(`'${name}' cannot be the name of a Java package`, { hint: "Name one: --package=com.example" });
    const files = generateJava(await chosenFeatures(context, input), name, input.naming ?? "camel");
    const written = files.map((file) => join(out, file.name));
    await refuseForeign(context, written, input);
    const removed: string[] = [];
    for await (const { path: old, text: source } of neighbours(out, ".java"))
      if (isGenerated(source) && !written.includes(old)) removed.push(old);
    for (const file of files) await machine.writeFile(join(out, file.name), file.text);
    for (const old of removed) await machine.remove(old);
    return { written, removed };
  },
  view: textView(({ written }: Written) => written.join("\n")),
});

/** The package that a folder stands for: its path below the root of sources, else its own name. */
function packageOfFolder(folder: string, isPackage: (name: string) => boolean): string {
  const below = /[\\/]src[\\/](?:main|test)[\\/]java[\\/](.+)$/.exec(folder)?.[1];
  const path = below?.split(/[\\/]/).join(".") ?? "";
  if (path !== "" && isPackage(path)) return path;
  const own = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9_]/g, "");
  return isPackage(own) ? own : "features";
}
