/**
 * The feature classes and names of a whole project, as the text of its Python files shows them.
 * What the text does not tell is marked as unknown.
 */

import { namespaceOf, parseWindow } from "../../domain/name.ts";
import type { Expression, Keyword, TextRange } from "./python-expression.ts";
import type { ClassField, Decorator, ModuleContent, PythonClass, PythonFunction, PythonModule } from "./python-module.ts";

/** A feature of a class. */
export interface FieldModel {
  readonly attribute: string;
  /** The last part of its FQN; undefined when only running the code tells. */
  readonly name: string | undefined;
  readonly source: ClassField;
  /** The keywords of `feature(...)`, when it is written so. */
  readonly options: readonly Keyword[];
  /** Whether the value has an effect that is not understood: a call of a helper, `**options`. */
  readonly open: boolean;
  /**
   * The windows of `windowed(...)` in seconds, as far as they are literals; undefined when it is
   * not written so.
   */
  readonly windows: readonly number[] | undefined;
}

/** A feature class. */
export interface ClassModel {
  readonly module: PythonModule;
  readonly definition: PythonClass;
  readonly decorator: Decorator;
  readonly namespace: string | undefined;
  /** The text that gives it its namespace: the value of `name=`, else the class's name. */
  readonly named: TextRange;
  /** By attribute; the last annotation counts. */
  readonly fields: ReadonlyMap<string, FieldModel>;
  /** Whether the fields are all that the class has, and the class is surely there. */
  readonly complete: boolean;
}

/** A resolver. */
export interface ResolverModel {
  readonly module: PythonModule;
  readonly definition: PythonFunction;
  readonly decorator: Decorator;
  readonly fqn: string | undefined;
  /** The text that gives it its name: the value of `name=`, else the function's name. */
  readonly named: TextRange;
  /** Whether the signature that is written is the one that counts: no other decorators. */
  readonly plain: boolean;
}

/** The meaning of a dotted name. */
export type Meaning =
  | { readonly kind: "class"; readonly model: ClassModel }
  | { readonly kind: "resolver"; readonly model: ResolverModel }
  | { readonly kind: "sdk"; readonly name: string }
  /** A type of Python or of the project that is no feature class. */
  | { readonly kind: "type" }
  | { readonly kind: "unknown" }
  /** Nothing in the project and nothing of Python has this name. */
  | { readonly kind: "undefined" };

const UNKNOWN: Meaning = { kind: "unknown" };
const TYPE: Meaning = { kind: "type" };
const RESOLVER_DECORATORS = new Set(["online", "offline", "realtime", "batch"]);
const VALUE_TYPES = new Set(
  "int float str bool bytes list set dict tuple frozenset object type complex bytearray memoryview range None".split(" "),
);
const STANDARD_TYPES: Readonly<Record<string, readonly string[]>> = {
  datetime: ["datetime", "date", "timedelta", "time"],
  decimal: ["Decimal"],
  enum: ["Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"],
  uuid: ["UUID"],
  pathlib: ["Path"],
  fractions: ["Fraction"],
};
/** Builtins that can stand in an annotation without being a feature. */
const BUILTINS = new Set(
  "ArithmeticError AssertionError BaseException Ellipsis Exception False KeyError NotImplemented RuntimeError True TypeError ValueError Warning abs all any callable classmethod enumerate filter getattr hasattr input isinstance issubclass iter len map max min next open print property repr reversed round slice sorted staticmethod sum super vars zip".split(
    " ",
  ),
);

/** The project's Python. */
export class ProjectModel {
  readonly classes: ClassModel[] = [];
  readonly resolvers: ResolverModel[] = [];
  readonly #modules = new Map<string, PythonModule>();
  readonly #classes = new Map<PythonClass, ClassModel>();
  readonly #resolvers = new Map<PythonFunction, ResolverModel>();
  /** The definitions of modules by name; made when a name of the module is looked up. */
  readonly #definitions = new Map<PythonModule["definitions"], ReadonlyMap<string, readonly (PythonClass | PythonFunction)[]>>();

  /**
   * @param modules the files that could be read
   * @param whole whether these are all of the project's files
   */
  constructor(
    readonly modules: readonly PythonModule[],
    readonly whole: boolean,
  ) {
    for (const module of modules) this.#modules.set(module.module, module);
    for (const module of modules)
      for (const definition of module.definitions) {
        if (definition.kind === "class") this.#addClass(module, definition);
        else this.#addResolver(module, definition);
      }
  }

  /** Whether more feature classes may exist than were found. */
  get mayHoldMoreClasses(): boolean {
    return !this.whole || this.modules.some((module) => module.open || mentionsFeatures(module));
  }

  /**
   * The SDK's name that a dotted name stands for, such as `features` for `svc.features.features`.
   */
  sdkName(module: PythonModule, path: readonly string[]): string | undefined {
    return this.hidesSdk ? undefined : sdkName(module, path);
  }

  /** Whether the project has a module `svc` of its own: then no name stands for one of the SDK. */
  get hidesSdk(): boolean {
    return this.#modules.has("svc");
  }

  /** The meaning of a dotted name in a module. */
  meaning(module: PythonModule, path: readonly string[], depth = 0): Meaning {
    const [first, ...rest] = path;
    if (first === undefined || depth > 10) return UNKNOWN;
    const own = this.#named(module, first);
    if (own.length > 0) {
      const last = own.at(-1);
      if (rest.length > 0 || own.some((definition) => definition.conditional) || module.imports.has(first)) return UNKNOWN;
      if (last?.kind !== "class") {
        const resolver = last && this.#resolvers.get(last);
        return resolver ? { kind: "resolver", model: resolver } : UNKNOWN;
      }
      const model = this.#classes.get(last);
      if (model) return { kind: "class", model };
      return last.decorators.some((decorator) => decorator.path.length === 0 || !isDataclass(decorator)) ? UNKNOWN : TYPE;
    }
    const item = module.imports.get(first);
    if (item) return this.#imported(module, item, path, depth);
    if (module.names.has(first)) return UNKNOWN;
    if (VALUE_TYPES.has(first)) return rest.length === 0 ? TYPE : UNKNOWN;
    if (BUILTINS.has(first) || module.open) return UNKNOWN;
    return { kind: "undefined" };
  }

  /** The definitions of a name in a module, in their order. */
  #named({ definitions }: PythonModule, name: string): readonly (PythonClass | PythonFunction)[] {
    let byName = this.#definitions.get(definitions);
    if (!byName) {
      byName = Map.groupBy(definitions, (definition) => definition.name);
      this.#definitions.set(definitions, byName);
    }
    return byName.get(name) ?? [];
  }

  #imported(module: PythonModule, item: { module: string; name: string | undefined }, path: readonly string[], depth: number): Meaning {
    const sdk = this.sdkName(module, path);
    if (sdk) return { kind: "sdk", name: sdk };
    const rest = path.slice(1);
    const dotted = item.name === undefined ? [...item.module.split("."), ...rest] : [...item.module.split("."), item.name, ...rest];
    for (let length = dotted.length - 1; length >= 1; length--) {
      const target = this.#modules.get(dotted.slice(0, length).join("."));
      if (!target) continue;
      const found = this.meaning(target, dotted.slice(length), depth + 1);
      return found.kind === "undefined" ? UNKNOWN : found;
    }
    const [standard, name] = [dotted.slice(0, -1).join("."), dotted.at(-1) as string];
    return STANDARD_TYPES[standard]?.includes(name) ? TYPE : UNKNOWN;
  }

  #addClass(module: PythonModule, definition: PythonClass): void {
    const own = definition.decorators.filter((decorator) => this.sdkName(module, decorator.path) === "features");
    const decorator = own[0];
    if (!decorator) return;
    const nameOption = decorator.call.keywords.find((keyword) => keyword.name === "name");
    const namespace = nameOption ? literalText(nameOption.value) : decorator.call.open ? undefined : namespaceOf(definition.name);
    const fields = new Map<string, FieldModel>();
    for (const source of definition.fields) {
      if (source.name.startsWith("_") || isClassVariable(source.annotation)) continue;
      fields.set(source.name, this.#field(module, source));
    }
    const { positional, open } = definition.bases;
    const hasBases =
      open || positional.some((base) => base.kind !== "name" || base.name !== "object") || definition.bases.keywords.length > 0;
    const complete = !definition.open && !hasBases && !definition.conditional && definition.decorators.length === 1;
    const model = { module, definition, decorator, namespace, named: nameOption?.value ?? definition, fields, complete };
    this.classes.push(model);
    this.#classes.set(definition, model);
  }

  #field(module: PythonModule, source: ClassField): FieldModel {
    const { value } = source;
    const called = value?.kind === "call" ? this.sdkName(module, dottedPath(value.callee) ?? []) : undefined;
    if (value?.kind === "call" && (called === "feature" || called === "windowed" || called === "group_by_windowed")) {
      const { positional, keywords: options, open } = value.call;
      const windows = called !== "feature" ? positional.map(windowSeconds) : [];
      const nameOption = options.find((keyword) => keyword.name === "name");
      const isOpen = open || (called === "feature" ? positional.length > 0 : windows.includes(undefined));
      const name = nameOption ? literalText(nameOption.value) : open || windows.includes(undefined) ? undefined : source.name;
      const known = [...new Set(windows.filter((window) => window !== undefined))];
      return { attribute: source.name, name, source, options, open: isOpen, windows: called !== "feature" ? known : undefined };
    }
    const isPlain =
      !value ||
      called === "has_one" ||
      called === "has_many" ||
      !["call", "name", "member", "other", "subscript"].includes(value.kind) ||
      this.#isExpression(module, value);
    return { attribute: source.name, name: isPlain ? source.name : undefined, source, options: [], open: !isPlain, windows: undefined };
  }

  /** Whether a value is an expression of `_`. */
  #isExpression(module: PythonModule, value: Expression): boolean {
    let at = value;
    while (at.kind === "member" || at.kind === "subscript" || at.kind === "call") {
      if (at.kind === "call" && !this.hidesSdk && isSdkFunction(module, at.callee)) return true;
      at = at.kind === "call" ? at.callee : at.object;
    }
    if (at.kind === "name") return at.name === "_" && at !== value && this.sdkName(module, ["_"]) === "_";
    return at.kind === "other" && this.sdkName(module, ["_"]) === "_" && /(?<![\w.])_\./.test(module.text.slice(at.from, at.to));
  }

  #addResolver(module: PythonModule, definition: PythonFunction): void {
    const own = definition.decorators.filter((decorator) => RESOLVER_DECORATORS.has(this.sdkName(module, decorator.path) ?? ""));
    const decorator = own[0];
    if (!decorator) return;
    const nameOption = decorator.call.keywords.find((keyword) => keyword.name === "name");
    const name = nameOption ? literalText(nameOption.value) : decorator.call.open ? undefined : definition.name;
    const fqn = name === undefined || definition.conditional ? undefined : `${module.module}.${name}`;
    const named = nameOption?.value ?? definition;
    const model = { module, definition, decorator, fqn, named, plain: definition.decorators.length === 1 };
    this.resolvers.push(model);
    this.#resolvers.set(definition, model);
  }
}

/**
 * The SDK's name that a dotted name of a module stands for, such as `features` for
 * `svc.features.features`, unless the project hides the SDK.
 */
export function sdkName(module: ModuleContent, path: readonly string[]): string | undefined {
  const [first, ...rest] = path;
  const item = first === undefined ? undefined : module.imports.get(first);
  if (!item || module.definitions.some((definition) => definition.name === first)) return undefined;
  if (item.module !== "svc" && !item.module.startsWith("svc.")) return undefined;
  const dotted = [...item.module.split("."), ...(item.name === undefined ? [] : [item.name]), ...rest];
  return dotted.length < 2 ? undefined : dotted.at(-1);
}

/** Whether an expression names a function of `svc.functions`, unless the project hides the SDK. */
export function isSdkFunction(module: ModuleContent, callee: Expression): boolean {
  const path = dottedPath(callee);
  const item = path && module.imports.get(path[0] as string);
  if (!path || !item || sdkName(module, path) === undefined) return false;
  const dotted = [...item.module.split("."), ...(item.name === undefined ? [] : [item.name]), ...path.slice(1)];
  return dotted.length === 3 && dotted[1] === "functions";
}

/** `a.b.c` as its segments; undefined for any other expression. */
export function dottedPath(expression: Expression): string[] | undefined {
  const segments: string[] = [];
  let at = expression;
  while (at.kind === "member") {
    segments.unshift(at.name);
    at = at.object;
  }
  if (at.kind !== "name") return undefined;
  segments.unshift(at.name);
  return segments;
}

/** Seconds of a window that is written as text; undefined for everything else. */
export function windowSeconds(expression: Expression): number | undefined {
  const ms = parseWindow(literalText(expression) ?? "");
  return ms === undefined ? undefined : ms / 1000;
}

/** Text of a string literal; undefined for everything else. */
export function literalText(expression: Expression): string | undefined {
  return expression.kind === "string" ? expression.value : undefined;
}

function isDataclass(decorator: Decorator): boolean {
  return decorator.path.at(-1) === "dataclass" || decorator.path.at(-1) === "unique";
}

function isClassVariable(annotation: Expression): boolean {
  const core = annotation.kind === "subscript" ? annotation.object : annotation;
  if (core.kind === "string") return /^(?:\w+\.)?ClassVar\b/.test(core.value ?? "");
  return dottedPath(core)?.at(-1) === "ClassVar";
}

/**
 * Whether a module uses the decorator otherwise than above a class at the top level, or under
 * another name.
 */
function mentionsFeatures(module: PythonModule): boolean {
  const written = module.definitions
    .filter((item) => item.kind === "class")
    .flatMap((item) => item.decorators.filter((one) => one.path.at(-1) === "features"));
  const mentioned = module.text.match(/@\s*(?:\w+\s*\.\s*)*features\b|\bfeatures\s*\(\s*\w+\s*\)/g)?.length ?? 0;
  const alias = [...module.imports].some(
    ([bound, item]) => item.name === "features" && item.module.startsWith("svc") && bound !== "features",
  );
  return alias ? false : mentioned > written.length;
}
