/** The content of the project file; mistakes in it are findings 190. */

import type { Diagnostic } from "../../gen/svc/v1/error_pb.ts";
import { didYouMean } from "../domain/closest.ts";
import { finding } from "../domain/finding.ts";
import type { LineMap } from "../domain/line-map.ts";
import { BAD_PROJECT_FILE } from "../domain/rules/project.ts";
import { MAX_VENVS, VENV_NAME } from "../domain/venvs.ts";
import { scalarText, type YamlEntry, type YamlMap, type YamlNode } from "../domain/yaml-tree.ts";
import type { MetadataPolicy, Project, ProjectEnvironment, ProjectVenv } from "./project.ts";

/** Runtimes that an environment may name. */
export const RUNTIMES = ["python310", "python311", "python312", "python313"] as const;

/** The keys of the file with what they mean; `-` in a key is as `_`. */
export const TOP_KEYS = {
  project: "Name of the project on the server that the folder is deployed to",
  name: "The same as `project`; one of them is there",
  environments: "Environments by name; a deployment makes those that are missing",
  validation: "What lint asks of features and resolvers: which metadata they have to have",
} as const;
/** The keys of an environment. */
export const ENVIRONMENT_KEYS = {
  requirements: "File of the packages that the code imports",
  runtime: "Python that runs the resolvers; left out, the newest one that is found",
  dockerfile: "File that an image is built by",
  platform_version: "Version of the platform",
  ignore_file: "File that says what is not uploaded, in place of .svcignore",
  venvs: "Further sets of requirements by name, each for the resolvers with `venv=` of that name",
} as const;
/** The keys of a venv. */
export const VENV_KEYS = {
  requirements: "File of its packages",
  runtime: "Python of its workers; left out, that of the environment",
} as const;
/** Metadata that can be asked for. */
export const METADATA = ["owner", "description", "tags"] as const;
/** What becomes of it when it is missing. */
export const MISSING = ["error", "warn", "warning"] as const;
type Missing = NonNullable<MetadataPolicy["feature"]>[number];

/**
 * The content of a project file, from its tree. `fallbackName` is taken when it names no project.
 */
export function readProjectFile(
  tree: YamlNode | undefined,
  lines: LineMap,
  text: string,
  fallbackName: string,
): Pick<Project, "name" | "environments" | "validation" | "diagnostics"> {
  const reader = new ProjectFileReader(lines);
  const top = tree ?? { kind: "map", entries: [], start: 0, end: Math.min(text.length, 1) };
  return reader.read(top, fallbackName);
}

class ProjectFileReader {
  readonly #findings: Diagnostic[] = [];
  constructor(readonly lines: LineMap) {}

  read(top: YamlNode, fallbackName: string): Pick<Project, "name" | "environments" | "validation" | "diagnostics"> {
    const map = this.#map(top, "the project file");
    this.#knownKeys(map, "", Object.keys(TOP_KEYS));
    const [project, same] = [this.#entry(map, "project"), this.#entry(map, "name")];
    if (project && same)
      this.#error(
        same.keyStart,
        same.keyEnd,
        "name: the project has its name from `project` already, and this one would do nothing",
        "a second name",
        "Leave `name` out.",
      );
    const nameEntry = project ?? same;
    const name = nameEntry ? this.#text(nameEntry, nameEntry.key) : undefined;
    if (!nameEntry && top.kind === "map")
      this.#error(top.start, top.start + 1, "project: the project has no name", "no name", "Write a line such as `project: my_project`.");
    return {
      name: name ?? fallbackName,
      environments: this.#environments(this.#entry(map, "environments")),
      validation: this.#validation(this.#entry(map, "validation")),
      diagnostics: this.#findings,
    };
  }

  #environments(entry: YamlEntry | undefined): ProjectEnvironment[] {
    if (!entry || isNull(entry.value)) return [];
    return this.#map(entry.value, "environments").entries.map(({ key: name, value }) => {
      const path = `environments.${name}`;
      const map = isNull(value) ? emptyMap(value) : this.#map(value, path);
      this.#knownKeys(map, path, Object.keys(ENVIRONMENT_KEYS));
      const text = (key: keyof typeof ENVIRONMENT_KEYS): string | undefined => {
        const found = this.#entry(map, key);
        return found && !isNull(found.value) ? this.#text(found, `${path}.${key}`) : undefined;
      };
      const runtime = this.#runtime(this.#entry(map, "runtime"), `${path}.runtime`);
      const venvs = this.#venvs(this.#entry(map, "venvs"), `${path}.venvs`);
      const [requirements, dockerfile] = [text("requirements"), text("dockerfile")];
      const [platformVersion, ignoreFile] = [text("platform_version"), text("ignore_file")];
      return {
        name,
        ...(requirements ? { requirements } : {}),
        ...(runtime ? { runtime } : {}),
        ...(venvs.length > 0 ? { venvs } : {}),
        ...(dockerfile ? { dockerfile } : {}),
        ...(platformVersion ? { platformVersion } : {}),
        ...(ignoreFile ? { ignoreFile } : {}),
      };
    });
  }

  #venvs(entry: YamlEntry | undefined, path: string): ProjectVenv[] {
    if (!entry || isNull(entry.value)) return [];
    const { entries } = this.#map(entry.value, path);
    if (entries.length > MAX_VENVS)
      this.#error(entry.keyStart, entry.keyEnd, `${path}: has ${entries.length} venvs, and at most ${MAX_VENVS} are allowed`, "too many");
    return entries.slice(0, MAX_VENVS).flatMap(({ key: name, value, keyStart, keyEnd }) => {
      const own = `${path}.${name}`;
      if (!VENV_NAME.test(name)) {
        const rule = "a name has letters, digits, '.', '_' and '-', at most 100 of them";
        this.#error(keyStart, keyEnd, `${path}: '${name}' cannot be the name of a venv; ${rule}`, "no name");
        return [];
      }
      const map = isNull(value) ? emptyMap(value) : this.#map(value, own);
      this.#knownKeys(map, own, Object.keys(VENV_KEYS));
      const stated = this.#entry(map, "requirements");
      const requirements = stated && this.#text(stated, `${own}.requirements`);
      const runtime = this.#runtime(this.#entry(map, "runtime"), `${own}.runtime`);
      if (!stated)
        this.#error(
          keyStart,
          keyEnd,
          `${own}: names no requirements file`,
          "no requirements",
          "Write `requirements: requirements-NAME.txt` below it.",
        );
      if (!requirements) return [];
      return [{ name, requirements, ...(runtime ? { runtime } : {}), span: this.lines.span(keyStart, keyEnd) }];
    });
  }

  #runtime(entry: YamlEntry | undefined, path: string): string | undefined {
    if (!entry || isNull(entry.value)) return undefined;
    const text = this.#text(entry, path);
    if (text === undefined) return undefined;
    const plain = text.toLowerCase().replaceAll(/[.\s-]/g, "");
    if (RUNTIMES.some((runtime) => runtime === text)) return text;
    const near = RUNTIMES.find((runtime) => runtime === plain || runtime === `python${plain}`);
    const advice = near ? `did you mean '${near}'?` : `the runtimes are ${RUNTIMES.join(", ")}`;
    this.#error(entry.value.start, entry.value.end, `${path}: '${text}' is no runtime; ${advice}`, "no such runtime");
    return undefined;
  }

  #validation(entry: YamlEntry | undefined): MetadataPolicy {
    if (!entry || isNull(entry.value)) return {};
    const map = this.#map(entry.value, "validation");
    this.#knownKeys(map, "validation", ["feature", "resolver"]);
    const policy = (kind: "feature" | "resolver"): MetadataPolicy => {
      const found = this.#entry(map, kind);
      if (!found || isNull(found.value)) return {};
      const path = `validation.${kind}`;
      const node = found.value.kind === "map" ? this.#metadataOf(found.value, path) : found.value;
      return node ? { [kind]: this.#metadata(node, path) } : {};
    };
    return { ...policy("feature"), ...policy("resolver") };
  }

  #metadataOf(map: YamlMap, path: string): YamlNode | undefined {
    this.#knownKeys(map, path, ["metadata"]);
    return this.#entry(map, "metadata")?.value;
  }

  #metadata(node: YamlNode, path: string): Missing[] {
    if (node.kind !== "list") {
      this.#error(node.start, node.end, `${path}: must be a list such as [{name: owner, missing: error}]`, "not a list");
      return [];
    }
    return node.items.flatMap((item) => {
      const map = this.#map(item, `${path}[]`);
      this.#knownKeys(map, `${path}[]`, ["name", "missing"]);
      const name = this.#word(this.#entry(map, "name"), `${path}[].name`, METADATA);
      const missing = this.#word(this.#entry(map, "missing"), `${path}[].missing`, MISSING);
      if (item.kind === "map" && !this.#entry(map, "name")) this.#error(item.start, item.end, `${path}[]: has no \`name\``, "no name");
      return name ? [{ name, missing: missing === "error" ? "error" : "warn" }] : [];
    });
  }

  #word<const W extends string>(entry: YamlEntry | undefined, path: string, words: readonly W[]): W | undefined {
    const text = entry ? this.#text(entry, path) : undefined;
    if (!entry || text === undefined) return undefined;
    const word = words.find((candidate) => candidate === text.toLowerCase());
    if (!word) {
      const advice = didYouMean(text, words) || `it must be one of ${words.join(", ")}`;
      this.#error(entry.value.start, entry.value.end, `${path}: '${text}' is not known; ${advice}`, "unknown value");
    }
    return word;
  }

  #text(entry: YamlEntry, path: string): string | undefined {
    const text = scalarText(entry.value)?.trim();
    if (text) return text;
    const given = entry.value.kind === "scalar" ? "nothing" : `a ${entry.value.kind === "map" ? "mapping" : "list"}`;
    const [start, end] = entry.value.end > entry.value.start ? [entry.value.start, entry.value.end] : [entry.keyStart, entry.keyEnd];
    this.#error(start, end, `${path}: must be a text, but is ${given}`, "not a text");
    return undefined;
  }

  #map(node: YamlNode, path: string): YamlMap {
    if (node.kind === "map") return node;
    this.#error(node.start, Math.max(node.end, node.start + 1), `${path}: must be a mapping of keys to values`, "not a mapping");
    return emptyMap(node);
  }

  #knownKeys(map: YamlMap, path: string, keys: readonly string[]): void {
    for (const [at, entry] of map.entries.entries()) {
      const full = path ? `${path}.${entry.key}` : entry.key;
      const first = map.entries.slice(0, at).find(({ key }) => plainKey(key) === plainKey(entry.key));
      if (first) this.#error(entry.keyStart, entry.keyEnd, `${full}: is '${first.key}' once more, which counts`, "given twice");
      if (keys.includes(plainKey(entry.key))) continue;
      const advice = didYouMean(entry.key, keys) || `the keys are ${keys.join(", ")}`;
      this.#error(entry.keyStart, entry.keyEnd, `${full}: unknown key; ${advice}`, "unknown key");
    }
  }

  #entry(map: YamlMap, key: string): YamlEntry | undefined {
    return map.entries.find((entry) => plainKey(entry.key) === key);
  }

  #error(start: number, end: number, problem: string, label: string, hint = ""): void {
    const newline = this.lines.text.indexOf("\n", start);
    const lastInLine = newline < 0 ? end : Math.min(end, newline);
    const span = this.lines.span(start, Math.max(lastInLine, start));
    this.#findings.push(finding(BAD_PROJECT_FILE.value({ problem, label }), span, { hint }));
  }
}

function plainKey(key: string): string {
  return key.replaceAll("-", "_");
}

function isNull(node: YamlNode): boolean {
  return node.kind === "scalar" && node.value === null;
}

function emptyMap(node: YamlNode): YamlMap {
  return { kind: "map", entries: [], start: node.start, end: node.end };
}
