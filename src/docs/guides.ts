/** The guides: the pages in the folder `docs`, in the order in which they are best read. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "./page.ts";

/** The folder of the guides. */
export const GUIDES_FOLDER = join(import.meta.dir, "../../docs");

/** File names of the guides without their ending, in order. */
export const GUIDES: readonly string[] = [
  "first-steps",
  "concepts",
  "sources",
  "caching",
  "point-in-time",
  "aggregations",
  "kept-windows",
  "streams",
  "message-formats",
  "sinks",
  "vectors",
  "model-files",
  "venvs",
  "resource-groups",
  "own-values",
  "templates",
  "testing",
  "evaluations",
  "tasks",
  "compute-functions",
  "notebooks",
  "clients",
  "codegen",
  "grpc",
  "shell",
  "agents",
  "benchmarks",
  "containers",
  "scaling-groups",
  "production",
  "coming-from-feast",
];

/** The guides as pages. */
export function guidePages(): Page[] {
  return GUIDES.map((path) => {
    const markdown = readFileSync(join(GUIDES_FOLDER, `${path}.md`), "utf8");
    return { path, section: "Guides", title: titleOf(markdown), summary: summaryOf(markdown), markdown };
  });
}

/** The text of a document's first heading. */
export function titleOf(markdown: string): string {
  return /^# (.+)$/m.exec(markdown)?.[1] ?? "";
}

/** The first sentence of a document's first paragraph, without its marks. */
export function summaryOf(markdown: string): string {
  const [paragraph = ""] = markdown.replace(/^# .*\n+/, "").split("\n\n");
  const plain = paragraph
    .replaceAll("\n", " ")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll("`", "");
  return (/^.*?[.:](?= |$)/.exec(plain)?.[0] ?? plain).replace(/:$/, ".");
}
