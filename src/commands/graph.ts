import { toBinary } from "@bufbuild/protobuf";
import { type GetLineageResponse, type Graph, LineageDirection, type LineageNode } from "../../gen/svc/v1/graph_pb.ts";
import { defineCommand } from "../cli/command.ts";
import { choice, int, path, text } from "../cli/flag.ts";
import { messageNamed } from "../contract/contract.ts";
import { rawName } from "../domain/name.ts";
import { UsageError } from "../errors/cli-error.ts";
import { jsonDocument } from "../output/json.ts";
import { answerDocument } from "../output/json-view.ts";
import { choiceView, type Style, textView, type View } from "../output/view.ts";
import { nodeText } from "./definition-view.ts";

/** Edges from the choice that are shown without --depth. */
const DEPTH = 3;
/** Lines of a tree at most, in each direction. */
const MOST_LINES = 300;

/** The graph as text, the file that it was written to, or the lineage of a choice. */
type Shown =
  | { readonly form: "document"; readonly text: string; readonly document: unknown }
  | { readonly form: "file"; readonly path: string; readonly document: unknown }
  | { readonly form: "lineage"; readonly answer: GetLineageResponse };

export default defineCommand({
  summary: "Write feature and resolver metadata; show lineage",
  category: "Query and explore",
  description:
    "The graph of a deployment: its feature classes, resolvers, sources and named queries, as the message Graph of the API. JSON has the names and notation of --json, proto is the encoded message. With --lineage it shows instead what a feature, resolver, " +
    "source, namespace or named query comes from and what comes of it.",
  examples: [
    { run: "svc graph --out graph.json", does: "Write the live deployment's graph" },
    { run: "svc graph --format proto --out graph.bin", does: "The same, encoded" },
    { run: "svc graph --lineage user.email --depth 2", does: "What is at most two steps away" },
  ],
  needs: ["session"],
  flags: {
    out: path("file to write; left out or -: stdout", { placeholder: "<file>" }),
    deploymentId: text("deployment id; default: the live one", { aliases: ["--deployment"], placeholder: "<deployment>" }),
    format: choice("format of the graph; proto needs a file", ["json", "proto"], { defaultText: "json" }),
    lineage: text("show the lineage of a feature, resolver, source, namespace or query", { placeholder: "<name>", names: "feature" }),
    depth: int("steps of --lineage in each direction, 0 for all", { defaultText: `${DEPTH}`, min: 0, max: 1000 }),
  },
  check({ depth, format, lineage, out }, { flags }) {
    if (lineage === undefined && depth !== undefined) throw new UsageError("--depth goes with --lineage");
    if (lineage !== undefined && (out !== undefined || format !== undefined))
      throw new UsageError("--lineage is shown on stdout: it goes with neither --out nor --format (--json gives it as JSON)");
    if (format === "proto" && (out === undefined || out === "-")) throw new UsageError("--format proto needs a file: --out graph.bin");
    if (format === "proto" && flags.json) throw new UsageError("--format proto and --json exclude each other");
  },
  async run({ api, machine }, { deploymentId = "", depth = DEPTH, format, lineage, out }): Promise<Shown> {
    const service = await api.graph();
    if (lineage !== undefined) {
      const answer = await service.getLineage({ on: rawName(lineage.trim()), depth, deploymentId, direction: LineageDirection.BOTH });
      return { form: "lineage", answer };
    }
    const { graph } = await service.getGraph({ deploymentId });
    if (!graph) return { form: "document", text: "", document: null };
    if (format === "proto" && out !== undefined) {
      await machine.writeFile(out, toBinary(messageNamed<Graph>("svc.v1.Graph"), graph));
      return { form: "file", path: out, document: { path: out } };
    }
    const document = await answerDocument(graph);
    const written = jsonDocument(document);
    if (out === undefined || out === "-") return { form: "document", text: written, document };
    await machine.writeFile(out, `${written}\n`);
    return { form: "file", path: out, document };
  },
  view: choiceView<Shown>(({ form }) => (form === "lineage" ? LINEAGE : form === "file" ? FILE : DOCUMENT) as View<never>),
});

const DOCUMENT = textView(
  ({ text: written }: Extract<Shown, { form: "document" }>) => written,
  ({ document }) => document,
  { long: true },
);
const FILE = textView(
  (shown: Extract<Shown, { form: "file" }>) => shown.path,
  ({ document }) => document,
);
const LINEAGE = textView(
  ({ answer }: Extract<Shown, { form: "lineage" }>, style) => lineageText(answer, style),
  ({ answer }) => answerDocument(answer),
  { long: true },
);

/** A tree up and a tree down of each node that was chosen. */
function lineageText({ chosen, edges, edgesLeftOff, nodes, nodesLeftOff }: GetLineageResponse, style: Style): string {
  const known = new Map(nodes.map((node) => [node.id, node]));
  const before = Map.groupBy(edges, ({ to }) => to);
  const after = Map.groupBy(edges, ({ from }) => from);
  const parts = chosen.flatMap((id) => {
    const node = known.get(id);
    if (!node) return [];
    const up = treeLines(id, (one) => (before.get(one) ?? []).map(({ from }) => from), known, style);
    const down = treeLines(id, (one) => (after.get(one) ?? []).map(({ to }) => to), known, style);
    return [
      [
        style.bold(nodeText(node)),
        ...(up.length > 0 ? ["  comes from", ...up] : ["  comes from nothing here"]),
        ...(down.length > 0 ? ["  goes to", ...down] : ["  goes to nothing here"]),
      ].join("\n"),
    ];
  });
  const missing = nodesLeftOff + edgesLeftOff > 0 ? [style.dim(`... ${nodesLeftOff} nodes and ${edgesLeftOff} edges are left off`)] : [];
  return [...parts, ...missing].join("\n\n");
}

/** What is reached from a node, indented by steps; what was shown above is not unfolded again. */
function treeLines(
  start: string,
  next: (id: string) => readonly string[],
  nodes: ReadonlyMap<string, LineageNode>,
  style: Style,
): string[] {
  const lines: string[] = [];
  const shown = new Set([start]);
  const waiting = next(start).map((id) => ({ id, depth: 2 }));
  waiting.reverse();
  for (let step = waiting.pop(); step; step = waiting.pop()) {
    const { depth, id } = step;
    const node = nodes.get(id);
    if (!node) continue;
    if (lines.length >= MOST_LINES) return [...lines, style.dim(`${"  ".repeat(2)}... (--json shows all)`)];
    const isKnown = shown.has(id);
    const goesOn = isKnown && next(id).length > 0;
    lines.push(`${"  ".repeat(depth)}${nodeText(node)}${goesOn ? style.dim(" (see above)") : ""}`);
    shown.add(id);
    if (!isKnown) for (const one of next(id).toReversed()) waiting.push({ id: one, depth: depth + 1 });
  }
  return lines;
}
