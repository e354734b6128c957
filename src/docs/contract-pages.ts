/** Pages of the contract, made of the comments in its files: one for each service. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { block, code, literal, type Page } from "./page.ts";

const FOLDER = join(import.meta.dir, "../../proto/svc/v1");

/** A definition of a file with the comment above it, and what it contains. */
interface Definition {
  readonly kind: "service" | "message" | "enum" | "rpc";
  readonly name: string;
  readonly comment: string;
  /** The lines of its fields, values or options, with their comments. */
  readonly lines: string[];
  /** Of a method: what it takes and gives. */
  readonly takes?: string;
  readonly gives?: string;
}

/** The pages. Files without a service are on one page of messages that others use. */
export function contractPages(): Page[] {
  const files = [...new Bun.Glob("*.proto").scanSync(FOLDER)].sort();
  const read = files.map((file) => ({ file, definitions: definitionsOf(readFileSync(join(FOLDER, file), "utf8")) }));
  const [shared, services] = [
    read.filter((one) => !one.definitions.some(isService)),
    read.filter((one) => one.definitions.some(isService)),
  ];
  return [
    ...services.map(({ file, definitions }) => servicePage(file, definitions)),
    sharedPage(shared.flatMap(({ definitions }) => definitions)),
  ];
}

function isService({ kind }: Definition): boolean {
  return kind === "service";
}

function servicePage(file: string, definitions: readonly Definition[]): Page {
  const services = definitions.filter(isService);
  const title = services.map(({ name }) => name).join(", ");
  const summary = firstSentence(services[0]?.comment ?? "");
  const parts = [
    `# ${title}`,
    `${code(`svc/v1/${file}`)}. Each method is a POST to ${code(`/svc.v1.${services[0]?.name}/<method>`)}, as JSON or protobuf, by the protocols of Connect and gRPC.`,
    ...definitions.map(definitionText),
  ];
  return { path: `api/${file.replace(".proto", "")}`, section: "API", title, summary, markdown: parts.join("\n\n") };
}

function sharedPage(definitions: readonly Definition[]): Page {
  const title = "Messages of several services";
  const summary = "Messages and enumerations that several services use.";
  return {
    path: "api/messages",
    section: "API",
    title,
    summary,
    markdown: [`# ${title}`, summary, ...definitions.map(definitionText)].join("\n\n"),
  };
}

function definitionText({ comment, gives, kind, lines, name, takes }: Definition): string {
  const said = comment === "" ? [] : [literal(comment)];
  if (kind === "service") return [`## ${name}`, ...said].join("\n\n");
  if (kind === "rpc") {
    const permission = lines.map((line) => /\(permission\) = PERMISSION_(\w+)/.exec(line)?.[1]).find((found) => found !== undefined);
    const needs = permission === undefined ? [] : [`Permission: ${code(permission.toLowerCase().replaceAll("_", "."))}.`];
    return [`### ${name}`, `${code(`${takes}`)} → ${code(`${gives}`)}`, ...said, ...needs].join("\n\n");
  }
  return [`### ${name}`, ...said, block("protobuf", `${kind} ${name} {\n${lines.join("\n")}\n}`)].join("\n\n");
}

function firstSentence(text: string): string {
  return /^.*?[.](?= |$)/.exec(text)?.[0] ?? text;
}

/** The definitions of a file at its top, and the methods of its services, in order. */
export function definitionsOf(text: string): Definition[] {
  const found: Definition[] = [];
  let comment: string[] = [];
  let depth = 0;
  let top: Definition | undefined;
  let method: Definition | undefined;
  for (const line of text.split("\n")) {
    const trimmed = line.trim();
    const opens = trimmed.startsWith("//") ? 0 : (trimmed.match(/\{/g)?.length ?? 0);
    const closes = trimmed.startsWith("//") ? 0 : (trimmed.match(/\}/g)?.length ?? 0);
    const start = depth === 0 ? /^(service|message|enum) (\w+) \{/.exec(trimmed) : null;
    const rpc = depth === 1 && top?.kind === "service" ? /^rpc (\w+)\((.+?)\) returns \((.+?)\)/.exec(trimmed) : null;
    if (start) {
      top = { kind: start[1] as Definition["kind"], name: start[2] as string, comment: comment.join(" "), lines: [] };
      found.push(top);
    } else if (rpc) {
      method = { kind: "rpc", name: rpc[1] as string, comment: comment.join(" "), lines: [], takes: rpc[2], gives: rpc[3] };
      found.push(method);
    } else if (depth + opens - closes > (top?.kind === "service" ? 1 : 0)) (top?.kind === "service" ? method : top)?.lines.push(line);
    depth += opens - closes;
    comment = trimmed.startsWith("//") ? [...comment, trimmed.replace(/^\/\/ ?/, "")] : [];
  }
  return found;
}
