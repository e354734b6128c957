/** Pages of the Python package, made of its docstrings: one for each module that people import. */

import { block, type Page } from "./page.ts";

/** The package's files by their path: `svc/features.py`. */
export type PythonFiles = Readonly<Record<string, string>>;

/** A function or class with its first lines and its docstring. */
interface Documented {
  readonly signature: string;
  readonly doc: string;
}

/** The pages. */
export function pythonPages(files: PythonFiles): Page[] {
  const modules = new Map<string, string[]>();
  for (const [name, [first = ""]] of publicNames(files)) modules.set(first, [...(modules.get(first) ?? []), name]);
  return [...modules].sort(([a], [b]) => (a < b ? -1 : 1)).map(([module, names]) => modulePage(files, module, names));
}

function modulePage(files: PythonFiles, module: string, names: readonly string[]): Page {
  const file = fileOf(files, module);
  const doc = docstring(files[file] ?? "", 0);
  const parts = names.map((name) => nameText(name, findDefinition(files, file, name)));
  const summary = (doc.split("\n")[0] ?? "").trim();
  const [, ...more] = doc.split("\n\n");
  const text = [
    `# ${module}`,
    summary,
    ...more.map((paragraph) => (/^ {4}/.test(paragraph) ? block("py", dedented(paragraph)) : paragraph)),
    ...parts,
  ];
  return { path: `python/${module.replaceAll(".", "-")}`, section: "Python", title: module, summary, markdown: text.join("\n\n") };
}

function nameText(name: string, found: Documented | undefined): string {
  if (!found) return `## ${name}`;
  return [`## ${name}`, block("py", found.signature), ...(found.doc === "" ? [] : [docText(found.doc)])].join("\n\n");
}

/** A docstring as Markdown: what is indented is code, and `name: meaning` an item of a list. */
function docText(doc: string): string {
  return doc
    .split("\n\n")
    .map((paragraph) => {
      if (/^ {4}/.test(paragraph)) return block("py", dedented(paragraph));
      const text = paragraph.replaceAll("``", "`").replaceAll("<", "\\<");
      return /^\w+: /.test(text) ? text.replace(/^([\w*]+): /gm, "- `$1`: ").replace(/^ {4}/gm, "  ") : text;
    })
    .join("\n\n");
}

function dedented(text: string): string {
  return text.replace(/^ {4}/gm, "");
}

/** Public names with the modules that have them, the first of which advice names. */
export function publicNames(files: PythonFiles): [name: string, modules: string[]][] {
  const text = files["svc/_surface/public_names.py"] ?? "";
  const constants = new Map([...text.matchAll(/^(_[A-Z]+) = "([\w.]+)"$/gm)].map(([, name, module]) => [name as string, module as string]));
  const tableText = /^PUBLIC_NAMES[^{]*\{([\s\S]*?)^\}/m.exec(text)?.[1] ?? "";
  return [...tableText.matchAll(/^ {4}"(\w+)": \(([^)]*)\),/gm)].map(([, name = "", list = ""]) => [
    name,
    list.split(",").flatMap((one) => constants.get(one.trim()) ?? []),
  ]);
}

function fileOf(files: PythonFiles, module: string): string {
  const path = module.replaceAll(".", "/");
  return `${path}.py` in files ? `${path}.py` : `${path}/__init__.py`;
}

/** The definition of a name that a file has or imports from another one of the package. */
function findDefinition(files: PythonFiles, file: string, name: string, depth = 0): Documented | undefined {
  const text = files[file] ?? "";
  const here = definitionIn(text, name);
  if (here || depth > 4) return here;
  for (const [, dots = "", module = "", list = ""] of text.matchAll(/^\s*from (\.+)([\w.]*) import (\((?:[^)]*)\)|.*)$/gm)) {
    const imported = list
      .replace(/[()]/g, "")
      .split(",")
      .map((one) => one.trim().split(/ as /));
    const found = imported.find(([original, alias]) => (alias ?? original) === name);
    if (!found) continue;
    const folder = file.split("/").slice(0, -dots.length);
    return findDefinition(
      files,
      fileOf(files, [...folder, ...(module === "" ? [] : module.split("."))].join(".")),
      found[0] as string,
      depth + 1,
    );
  }
  return undefined;
}

/** The definition in a file: at its top, in a branch there, or as a value. */
function definitionIn(text: string, name: string): Documented | undefined {
  return definedAtTop(text, name) ?? definedAtTop(dedented(text), name) ?? assigned(text, name);
}

function definedAtTop(text: string, name: string): Documented | undefined {
  const matches = [...text.matchAll(new RegExp(`^(?:async )?(def|class) ${name}\\b`, "gm"))];
  const last = matches.at(-1);
  if (!last) return undefined;
  const end = headEnd(text, last.index);
  const doc = docstring(text.slice(end), 1);
  const head = text.slice(last.index, end).replace(/:$/, "");
  return { signature: last[1] === "class" ? (constructorOf(text, end, name) ?? head) : head, doc };
}

/** A name that is given a value, with the docstring below it; an alias says of what. */
function assigned(text: string, name: string): Documented | undefined {
  const found = new RegExp(`^ *${name} = (.+)$`, "m").exec(text);
  if (!found) return undefined;
  const [line, value = ""] = found;
  const doc = docstring(text.slice(found.index + line.length), 0);
  return { signature: line.trim(), doc: doc === "" && /^\w+$/.test(value) ? `Another name of \`${value}\`.` : doc };
}

/** What a class is called with, as its `__init__` says; undefined where it has none of its own. */
function constructorOf(text: string, from: number, name: string): string | undefined {
  const body = text.slice(from).split(/^(?=\S)/m)[0] ?? "";
  const at = body.search(/^ {4}def __init__\(/m);
  if (at < 0) return undefined;
  const head = dedented(body.slice(at, headEnd(body, at)));
  return head.replace(/^def __init__\(\s*self,?\s*/, `${name}(`).replace(/\) -> None:$/, ")");
}

/** The end of a definition's first lines: behind the colon that is in no brackets. */
function headEnd(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const character = text[at] as string;
    if ("([{".includes(character)) depth++;
    else if (")]}".includes(character)) depth--;
    else if (character === ":" && depth === 0) return at + 1;
  }
  return text.length;
}

/** The docstring that a text begins with, without its indentation; empty when there is none. */
function docstring(text: string, levels: number): string {
  const found = /^\s*(?:#.*\n\s*)*"""([\s\S]*?)"""/.exec(text)?.[1];
  if (found === undefined) return "";
  return found
    .replaceAll("\\\\", "\\")
    .trim()
    .replace(new RegExp(`^ {${levels * 4}}`, "gm"), "")
    .trim();
}
