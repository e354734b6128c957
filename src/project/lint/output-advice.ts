/**
 * Advice for finding 143: examples of outputs that the resolver could declare instead, which cause
 * no finding themselves. The analyzer gives the same examples.
 */

import { type FeaturePath, readAnnotation, relationOf } from "./annotation.ts";
import type { ClassModel, FieldModel, ProjectModel, ResolverModel } from "./project-model.ts";

/** Number of features in an example. */
const SHOWN = 2;

/** The advice for one resolver. */
export class OutputAdvice {
  constructor(
    readonly model: ProjectModel,
    readonly resolver: ResolverModel,
    /** The features that the parameters name. */
    readonly inputs: readonly FeaturePath[],
  ) {}

  /**
   * Advice on what to write behind `->`, beginning with a verb; undefined when the text of the
   * files does not show it.
   */
  example(): string | undefined {
    const [first] = this.inputs;
    const owner = first?.root ?? this.#newest();
    if (!owner) return "write '-> User.name' or '-> Features[User.name, User.email]'";
    const free = this.freeFeatures(owner);
    if (!free) return undefined;
    const { name } = owner.definition;
    const shown = free.slice(0, SHOWN).map((attribute) => `${name}.${attribute}`);
    if (shown.length === 0)
      return `add a feature to ${name} for what '${this.resolver.definition.name}' produces, and write its name behind '->'`;
    return `write '-> ${shown[0]}'${shown.length > 1 ? ` or '-> Features[${shown.join(", ")}]'` : ""}`;
  }

  /**
   * Advice on what to write instead of a class; undefined when the text of the files does not show
   * it.
   */
  ofClass(owner: ClassModel): string | undefined {
    const free = this.freeFeatures(owner);
    if (!free) return undefined;
    const [first] = this.inputs;
    const taken = this.#taken();
    const rest = [...owner.fields.values()]
      .filter((field) => !relationOf(this.model, owner, field) && !taken.has(field.attribute))
      .map(({ attribute }) => attribute);
    const isWhole = (!first || first.root === owner) && rest.length > 0 && rest.join() === free.join();
    return isWhole ? `write '-> Features[${owner.definition.name}]', or name its features` : this.example();
  }

  /**
   * The attributes of a class that the resolver can produce, in the order of definition; undefined
   * when the class is not fully understood.
   */
  freeFeatures(owner: ClassModel): string[] | undefined {
    const fields = [...owner.fields.values()];
    const readings = new Map(fields.map((field) => [field, readAnnotation(this.model, owner.module, field.source.annotation)]));
    if (!owner.complete || fields.some((field) => field.open || readings.get(field)?.core.kind === "unknown")) return undefined;
    const marked = fields.filter((field) => readings.get(field)?.primary || isMarked(field));
    const keys = new Set(marked.length > 0 ? marked : fields.filter(({ attribute }) => attribute === "id"));
    const times = fields.filter((field) => readings.get(field)?.time);
    const isTime = (field: FieldModel) => (times.length > 0 ? times.includes(field) : field.attribute === "ts");
    const through = this.#relationsRead();
    if (through.some((field) => field.source.value)) return undefined;
    const related = new Set(through.map((field) => relationOf(this.model, owner, field)));
    const leads = (field: FieldModel) => {
      const core = readings.get(field)?.core;
      return core?.kind === "feature" && related.has(core.path.root);
    };
    const taken = this.#taken();
    const claimed = this.#claimed(owner);
    return fields
      .filter((field) => !taken.has(field.attribute) && !claimed.has(field.attribute) && !keys.has(field) && !isTime(field))
      .filter((field) => !leads(field) && !isExpression(field) && !relationOf(this.model, owner, field))
      .map(({ attribute }) => attribute);
  }

  /**
   * Advice on what to return instead of a has-one relation; undefined unless its join is by one
   * foreign key of its own class, and nothing else.
   */
  ofRelation({ root, field, relation }: FeaturePath): string | undefined {
    if (field.source.value || !root.complete) return undefined;
    const taken = this.#taken();
    const keys = [...root.fields.values()].filter((other) => {
      const { core, primary } = readAnnotation(this.model, root.module, other.source.annotation);
      return core.kind === "feature" && core.path.root === relation && !primary && other.attribute !== "id";
    });
    const [key] = keys;
    if (!key || keys.length > 1 || taken.has(key.attribute)) return undefined;
    return `write '-> ${root.definition.name}.${key.attribute}', which the join compares`;
  }

  /** The relations of the class that parameters go through first. */
  #relationsRead(): FieldModel[] {
    return this.inputs.flatMap(({ root, attributes: [first, ...rest] }) => {
      const field = rest.length > 0 && first !== undefined ? root.fields.get(first) : undefined;
      return field ? [field] : [];
    });
  }

  #taken(): Set<string | undefined> {
    return new Set(this.inputs.filter(({ attributes }) => attributes.length === 1).map(({ attributes }) => attributes[0]));
  }

  /** The features of a class that other resolvers say they produce without quotes. */
  #claimed(owner: ClassModel): Set<string | undefined> {
    const found = new Set<string | undefined>();
    for (const { module, definition } of this.model.resolvers) {
      const { returns } = definition;
      if (definition === this.resolver.definition || !returns || returns.kind === "string") continue;
      const { core } = readAnnotation(this.model, module, returns);
      for (const item of core.kind === "selection" ? core.items : [returns]) {
        const read = readAnnotation(this.model, module, item).core;
        if (read.kind === "feature" && read.path.root === owner && read.path.attributes.length === 1) found.add(read.path.attributes[0]);
      }
    }
    return found;
  }

  #newest(): ClassModel | undefined {
    return this.model.classes.at(-1);
  }
}

function isMarked(field: FieldModel): boolean {
  const option = field.options.find(({ name }) => name === "primary")?.value;
  return option?.kind === "bool" && option.value;
}

/**
 * Whether a feature is computed by an expression: anything to the right of `=` that is no constant.
 */
function isExpression({ source: { value }, options, windows }: FieldModel): boolean {
  if (options.some(({ name }) => name === "expression")) return true;
  if (value === undefined || windows !== undefined) return false;
  return value.kind === "member" || value.kind === "subscript" || value.kind === "other" || (value.kind === "call" && options.length === 0);
}
