/** Rules about Python resolvers: 124, 125, 140 to 144, 146, 148; and 142 in named queries. */

import type { Diagnostic } from "../../../gen/svc/v1/error_pb.ts";
import { errorAt } from "../../domain/finding.ts";
import { type FeaturePath, readAnnotation, relationOf } from "./annotation.ts";
import { nameFindings, quoteFindings } from "./class-rules.ts";
import { optionFindings } from "./option-rules.ts";
import { OutputAdvice } from "./output-advice.ts";
import type { Places } from "./places.ts";
import { type ClassModel, dottedPath, type ProjectModel, type ResolverModel } from "./project-model.ts";
import type { Expression } from "./python-expression.ts";
import type { Parameter, PythonModule } from "./python-module.ts";

interface Input {
  readonly parameter: Parameter;
  readonly path: FeaturePath;
}

/** Checks every resolver by itself, their names against each other, and the features that named queries name. */
export function resolverFindings(model: ProjectModel, places: Places): Diagnostic[] {
  return [
    ...model.resolvers.flatMap((resolver) => [
      ...optionFindings(resolver.module, places, resolver.definition.name, "resolver", resolver.decorator.call),
      ...(resolver.plain ? signatureFindings(model, places, resolver) : []),
    ]),
    ...sameNames(model, places),
    ...namedQueryFindings(model, places),
  ];
}

function signatureFindings(model: ProjectModel, places: Places, resolver: ResolverModel): Diagnostic[] {
  const { module, definition } = resolver;
  const findings: Diagnostic[] = [];
  const inputs: Input[] = [];
  for (const parameter of definition.parameters) {
    const found = parameterFindings(model, places, module, parameter);
    findings.push(...found);
    if (!parameter.annotation || parameter.star) continue;
    const { core } = readAnnotation(model, module, parameter.annotation);
    if (core.kind === "feature" && found.length === 0) inputs.push({ parameter, path: core.path });
  }
  const advice = new OutputAdvice(
    model,
    resolver,
    inputs.map(({ path }) => path),
  );
  const outputs = readOutputs(model, places, resolver, advice, findings);
  findings.push(...rootFindings(model, places, module, inputs), ...overlapFindings(places, module, inputs, outputs));
  return findings;
}

/** 140, and what is wrong with the names in the annotation. */
function parameterFindings(model: ProjectModel, places: Places, module: PythonModule, parameter: Parameter): Diagnostic[] {
  const { name, star, annotation } = parameter;
  const atName = places.span(module, parameter.from, parameter.to);
  if (star) {
    const text = `'${star}${name}' names no features: write one parameter per feature, such as 'name: User.name'`;
    return [errorAt(140, atName, text, { label: "no feature" })];
  }
  if (!annotation) {
    const text = `parameter '${name}' names no feature: annotate it, such as '${name}: User.${name}'`;
    return [errorAt(140, atName, text, { label: "no feature annotation" })];
  }
  const { core } = readAnnotation(model, module, annotation);
  const names = [...quoteFindings(model, module, places, annotation), ...nameFindings(model, module, places, core)];
  if (names.length > 0) return names;
  const span = places.span(module, annotation.from, annotation.to);
  const written = module.text.slice(annotation.from, annotation.to);
  if (core.kind === "class") {
    const first = [...core.model.fields.keys()][0] ?? "id";
    const text = `parameter '${name}' is the class ${core.model.definition.name}: take its features one by one, such as '${name}: ${core.model.definition.name}.${first}'`;
    return [errorAt(140, span, text, { label: "no feature" })];
  }
  if (core.kind === "feature" && core.path.relation && !core.path.many) {
    const first = [...core.path.relation.fields.keys()][0] ?? "id";
    const text = `parameter '${name}' is a relation: take a feature of it, such as '${written.replaceAll(/["']/g, "")}.${first}'`;
    return [errorAt(140, span, text, { label: "a relation" })];
  }
  if (core.kind !== "value" && core.kind !== "selection") return [];
  const text = `parameter '${name}' has the type '${written}', which names no feature: write '${name}: User.${name}' instead`;
  return [errorAt(140, span, text, { label: "no feature" })];
}

/** The outputs that are understood; 143 and 142 about the others. */
function readOutputs(
  model: ProjectModel,
  places: Places,
  resolver: ResolverModel,
  advice: OutputAdvice,
  findings: Diagnostic[],
): FeaturePath[] {
  const { module, definition } = resolver;
  const { returns } = definition;
  if (!returns) {
    const problem = said(`'${definition.name}' does not say what it produces`, advice.example(), "no return annotation");
    if (problem) findings.push(errorAt(143, places.span(module, definition.from, definition.to), problem.text, { label: problem.label }));
    return [];
  }
  const quotes = quoteFindings(model, module, places, returns);
  findings.push(...quotes);
  const { core } = readAnnotation(model, module, returns);
  const items = core.kind === "selection" ? [...core.items] : [returns];
  if (core.kind === "selection")
    for (const item of core.excluded) findings.push(...nameFindings(model, module, places, readAnnotation(model, module, item).core));
  if (quotes.length > 0) return [];
  return items.flatMap((item) => {
    const read = readAnnotation(model, module, item).core;
    findings.push(...nameFindings(model, module, places, read));
    const problem = outputProblem(read, core.kind === "selection", module, item, advice);
    if (problem) findings.push(errorAt(143, places.span(module, item.from, item.to), problem.text, { label: problem.label }));
    return read.kind === "feature" && !problem ? [read.path] : [];
  });
}

interface OutputProblem {
  readonly text: string;
  readonly label: string;
}

function outputProblem(
  core: ReturnType<typeof readAnnotation>["core"],
  inSelection: boolean,
  module: PythonModule,
  item: Expression,
  advice: OutputAdvice,
): OutputProblem | undefined {
  if (core.kind === "class" && !inSelection)
    return said(`'${core.model.definition.name}' is a class`, advice.ofClass(core.model), "not a feature");
  if (core.kind === "feature" && core.path.relation && !core.path.many && core.path.attributes.length === 1) {
    return said(`'${module.text.slice(item.from, item.to)}' is a relation, found by its join`, advice.ofRelation(core.path), "a relation");
  }
  if (core.kind !== "value" && core.kind !== "now") return undefined;
  const written = module.text.slice(item.from, item.to);
  return said(`'${written}' names no feature`, advice.example(), "not a feature");
}

/** A problem with what to do about it; nothing where the text does not show that, because the analyzer says both. */
function said(problem: string, advice: string | undefined, label: string): OutputProblem | undefined {
  return advice === undefined ? undefined : { text: `${problem}: ${advice}`, label };
}

/** 141. */
function rootFindings(model: ProjectModel, places: Places, module: PythonModule, inputs: readonly Input[]): Diagnostic[] {
  const first = inputs[0];
  if (!first) return [];
  const root = first.path.root;
  return inputs.slice(1).flatMap(({ parameter, path }) => {
    if (path.root === root || !parameter.annotation) return [];
    const text = `the parameters start from ${root.definition.name} and from ${path.root.definition.name}: a resolver starts from one class${advice(model, root, path)}`;
    const at = first.parameter.annotation;
    const related = at ? [{ span: places.span(module, at.from, at.to), message: `starts from ${root.definition.name}` }] : [];
    return [
      errorAt(141, places.span(module, parameter.annotation.from, parameter.annotation.to), text, {
        label: `not from ${root.definition.name}`,
        related,
      }),
    ];
  });
}

function advice(model: ProjectModel, root: ClassModel, path: FeaturePath): string {
  for (const field of root.fields.values())
    if (relationOf(model, root, field) === path.root)
      return `; write '${root.definition.name}.${field.attribute}.${path.attributes.join(".")}'`;
  return "; relate the two classes and go through the relation";
}

/** 144. */
function overlapFindings(places: Places, module: PythonModule, inputs: readonly Input[], outputs: readonly FeaturePath[]): Diagnostic[] {
  return outputs.flatMap((output) => {
    const input = inputs.find(({ path }) => path.root === output.root && path.attributes.join(".") === output.attributes.join("."));
    if (!input?.parameter.annotation) return [];
    const name = `${output.root.namespace ?? output.root.definition.name}.${output.attributes.join(".")}`;
    const text = `'${name}' is an output and the input '${input.parameter.name}': a resolver cannot produce what it needs`;
    const { annotation } = input.parameter;
    return [
      errorAt(144, places.span(module, output.expression.from, output.expression.to), text, {
        label: "also an input",
        related: [{ span: places.span(module, annotation.from, annotation.to), message: "the input" }],
      }),
    ];
  });
}

/** 148 between Python resolvers of different files, or of one file under `name=`. */
function sameNames(model: ProjectModel, places: Places): Diagnostic[] {
  const first = new Map<string, ResolverModel>();
  return model.resolvers.flatMap((resolver) => {
    const { module, definition, fqn, named } = resolver;
    if (fqn === undefined) return [];
    const earlier = first.get(fqn);
    if (!earlier) first.set(fqn, resolver);
    if (!earlier || (earlier.module === module && earlier.definition.name === definition.name)) return [];
    const related = [{ span: places.span(earlier.module, earlier.definition.from, earlier.definition.to), message: "first defined here" }];
    const text = `two resolvers have the name '${fqn}': rename one function, or give it another 'name='`;
    return [errorAt(148, places.span(module, named.from, named.to), text, { label: "same name", related })];
  });
}

/** 142 about the features that named queries list. */
function namedQueryFindings(model: ProjectModel, places: Places): Diagnostic[] {
  return model.modules.flatMap((module) =>
    module.calls.flatMap(({ call }) => {
      if (model.sdkName(module, dottedPath(call.callee) ?? []) !== "NamedQuery") return [];
      const lists = call.call.keywords.filter((keyword) => keyword.name === "input" || keyword.name === "output");
      const items = lists.flatMap(({ value }) => (value.kind === "list" ? value.items : []));
      return items.flatMap((item) => {
        const { core } = readAnnotation(model, module, item);
        return core.kind === "missing" || core.kind === "no window" ? nameFindings(model, module, places, core) : [];
      });
    }),
  );
}
