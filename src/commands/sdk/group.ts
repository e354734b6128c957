import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Install the clients for Python and TypeScript",
  category: "Set up",
  examples: [
    { run: "svc sdk install", does: "The Python package, into the active virtual environment" },
    { run: "svc sdk wheel --out dist", does: "As a wheel, for a requirements file or an image" },
    { run: "svc sdk typescript", does: "The TypeScript client, for `npm install ./svc-client-...tgz`" },
  ],
});
