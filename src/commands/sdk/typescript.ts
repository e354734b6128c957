import { buildInfo } from "../../build-info.ts";
import { defineCommand } from "../../cli/command.ts";
import { path } from "../../cli/flag.ts";
import { type WrittenPackage, writtenPackage } from "../../client-packages/write-package.ts";
import { writtenPackageView } from "./package-view.ts";

export default defineCommand({
  summary: "Write the TypeScript client as an npm package",
  description:
    "The package of this build, for npm, Bun and others. It needs no other package, and runs in Node 20.3 and newer, Bun, and browsers. A mirror " +
    "(`svc server start --releases`) serves the same file beside the binaries of its release.",
  examples: ["svc sdk typescript", { run: "svc sdk typescript --out vendor", does: "Into a folder, which is made if need be" }],
  flags: { out: path("folder to write to", { defaultText: "the current folder", placeholder: "<folder>" }) },
  async run(context, { out }): Promise<WrittenPackage> {
    const { npmPackage } = await import("../../client-packages/npm-package.ts");
    return writtenPackage(context, out, await npmPackage(buildInfo));
  },
  view: writtenPackageView,
});
