import { buildInfo } from "../../build-info.ts";
import { defineCommand } from "../../cli/command.ts";
import { path } from "../../cli/flag.ts";
import { type WrittenPackage, writtenPackage } from "../../client-packages/write-package.ts";
import { writtenPackageView } from "./package-view.ts";

export default defineCommand({
  summary: "Write the Python package as a wheel",
  description:
    "The wheel of this build, for pip, uv and others. It runs on every system, and needs the standard library of Python 3.10 or newer alone. A mirror " +
    "(`svc server start --releases`) serves it to pip: `pip install --index-url http://<host>/simple svc`.",
  examples: ["svc sdk wheel", { run: "svc sdk wheel --out dist", does: "Into a folder, which is made if need be" }],
  flags: { out: path("folder to write to", { defaultText: "the current folder", placeholder: "<folder>" }) },
  async run(context, { out }): Promise<WrittenPackage> {
    const { wheel } = await import("../../client-packages/wheel.ts");
    return writtenPackage(context, out, await wheel(buildInfo));
  },
  view: writtenPackageView,
});
