/**
 * Symbols of a project, which have names in many places of its files: feature classes, features and
 * resolvers.
 */

import { relationOf, windowOf } from "../lint/annotation.ts";
import { type ClassModel, type FieldModel, literalText, type ProjectModel, type ResolverModel } from "../lint/project-model.ts";
import type { Expression } from "../lint/python-expression.ts";
import type { ClassField, PythonClass, PythonFunction, PythonModule } from "../lint/python-module.ts";

/**
 * A feature class, a feature or a resolver. It has two names, in Python and in queries; the second
 * follows from the first unless `name=` states it.
 */
export interface ProjectSymbol {
  readonly kind: "class" | "feature" | "resolver";
  /** Its definition. Two symbols are the same when this is the same object. */
  readonly definition: PythonClass | ClassField | PythonFunction;
  readonly module: PythonModule;
  /** The class of a feature. */
  readonly owner?: ClassModel;
  /** Its name in Python. */
  readonly name: string;
  /**
   * Its name in queries: the namespace of a class, the last part of an FQN. Undefined when only
   * running the code tells.
   */
  readonly queryName: string | undefined;
  /** The value of `name=`. */
  readonly nameOption: Expression | undefined;
}

/** An occurrence of a symbol's name; offsets in UTF-16 units. */
export interface Occurrence {
  readonly symbol: ProjectSymbol;
  /** Relative to the root. */
  readonly path: string;
  readonly from: number;
  readonly to: number;
  /** The kind of the name; `alias` is another name that an import gives the symbol. */
  readonly nameKind: "python" | "query" | "alias";
  readonly isDefinition: boolean;
  /** Whether it is a column of SQL or an entry of `fields`, which fills the feature. */
  readonly isColumn?: boolean;
  /**
   * For a column of SQL whose name is the database's and is to stay: the offset at which `as` and
   * the feature's name can be put.
   */
  readonly aliasAt?: number;
  /**
   * Whether SQL alone does not tell if this name is the feature's column or one of the database.
   */
  readonly isUncertain?: boolean;
}

/** Symbols of a project, by definition and by name. */
export class SymbolIndex {
  readonly #symbols = new Map<object, ProjectSymbol>();
  readonly #byName = new Map<string, ClassModel[]>();
  readonly #byNamespace = new Map<string, ClassModel>();
  readonly #classes: Map<PythonModule, ClassModel[]>;
  readonly #resolvers: Map<PythonModule, ResolverModel[]>;

  constructor(readonly model: ProjectModel) {
    this.#classes = Map.groupBy(model.classes, ({ module }) => module);
    this.#resolvers = Map.groupBy(model.resolvers, ({ module }) => module);
    for (const item of model.classes) {
      this.#byName.set(item.definition.name, [...(this.#byName.get(item.definition.name) ?? []), item]);
      if (item.namespace !== undefined && !this.#byNamespace.has(item.namespace)) this.#byNamespace.set(item.namespace, item);
    }
  }

  /** The class of a name that no other class of the project has; undefined otherwise. */
  onlyClass(name: string): ClassModel | undefined {
    const found = this.#byName.get(name) ?? [];
    return found.length === 1 ? found[0] : undefined;
  }

  /** The class of a namespace. */
  classOf(namespace: string): ClassModel | undefined {
    return this.#byNamespace.get(namespace);
  }

  /** The classes that a module defines. */
  classesIn(module: PythonModule): readonly ClassModel[] {
    return this.#classes.get(module) ?? [];
  }

  /** The resolvers that a module defines. */
  resolversIn(module: PythonModule): readonly ResolverModel[] {
    return this.#resolvers.get(module) ?? [];
  }

  ofClass(item: ClassModel): ProjectSymbol {
    const { definition, module, namespace, decorator } = item;
    return this.#symbol(definition, {
      kind: "class",
      definition,
      module,
      name: definition.name,
      queryName: namespace,
      nameOption: optionOf(decorator.call.keywords),
    });
  }

  ofFeature(owner: ClassModel, field: FieldModel): ProjectSymbol {
    return this.#symbol(field.source, {
      kind: "feature",
      definition: field.source,
      module: owner.module,
      owner,
      name: field.attribute,
      queryName: field.name,
      nameOption: optionOf(field.options),
    });
  }

  ofResolver({ definition, module, decorator, fqn }: ResolverModel): ProjectSymbol {
    const nameOption = optionOf(decorator.call.keywords);
    const queryName = fqn === undefined ? undefined : nameOption ? literalText(nameOption) : definition.name;
    return this.#symbol(definition, { kind: "resolver", definition, module, name: definition.name, queryName, nameOption });
  }

  /** The feature that an attribute of a class is; that of one window is the windowed feature. */
  attribute(owner: ClassModel, name: string): FieldModel | undefined {
    return owner.fields.get(name) ?? windowOf(owner, name);
  }

  /**
   * The feature that a part of a path names in queries, such as `amount`, `fails__600__` or
   * `fails[10m]`.
   */
  queried(owner: ClassModel, written: string): FieldModel | undefined {
    const fields = [...owner.fields.values()];
    const base = written.replace(/__\d+__$|\[.*\]$/, "");
    return fields.find(({ name }) => name === written) ?? fields.find(({ name, windows }) => name === base && windows !== undefined);
  }

  /** The class that a feature relates to. */
  target(owner: ClassModel, field: FieldModel): ClassModel | undefined {
    return relationOf(this.model, owner, field);
  }

  #symbol(key: object, made: ProjectSymbol): ProjectSymbol {
    const known = this.#symbols.get(key) ?? made;
    this.#symbols.set(key, known);
    return known;
  }
}

/**
 * The occurrences in a path such as `user.account.balance`, which begins at an offset with the name
 * of a class; undefined when it leads nowhere.
 * @param root the class that the first part stands for, and which of its names that is
 */
export function pathOccurrences(
  index: SymbolIndex,
  path: string,
  at: number,
  written: string,
  root: { readonly owner: ClassModel; readonly nameKind: "python" | "query" },
): Occurrence[] | undefined {
  const [first = "", ...rest] = written.split(".");
  const common = { path, isDefinition: false } as const;
  const found: Occurrence[] = [{ ...common, symbol: index.ofClass(root.owner), from: at, to: at + first.length, nameKind: root.nameKind }];
  let owner: ClassModel | undefined = root.owner;
  let from = at + first.length + 1;
  for (const part of rest) {
    const field: FieldModel | undefined = owner && index.queried(owner, part);
    if (!owner || field?.name === undefined) return undefined;
    found.push({ ...common, symbol: index.ofFeature(owner, field), from, to: from + field.name.length, nameKind: "query" });
    owner = index.target(owner, field);
    from += part.length + 1;
  }
  return found;
}

function optionOf(keywords: ClassModel["decorator"]["call"]["keywords"]): Expression | undefined {
  return keywords.find(({ name }) => name === "name")?.value;
}
