/** Translations of Python functions that this server can compute. */

import type { Resolver } from "../../../../gen/svc/v1/graph_pb.ts";
import {
  type CompiledTranslation,
  compileTranslation,
  type TranslatedOutput,
  type TranslatedParameter,
} from "../../expressions/python/compile-translation.ts";
import { pythonType } from "../../expressions/python/python-value.ts";
import type { ParameterInfo, ScalarInfo } from "./index-types.ts";
import { pathOf } from "./parameter-index.ts";

/**
 * Compiles a resolver's translation; its values are given in the order of the parameters. Undefined
 * when it has none, or this server cannot compute a part of it: the function then runs in Python.
 */
export function translationOf(
  resolver: Resolver,
  namespace: string,
  parameters: readonly ParameterInfo[],
  scalars: ReadonlyMap<string, ScalarInfo>,
): CompiledTranslation | undefined {
  if (Object.keys(resolver.translated).length === 0 || resolver.body.case !== "python") return undefined;
  const inputs: TranslatedParameter[] = [];
  for (const parameter of parameters) {
    const { feature } = parameter;
    const type = feature && !parameter.rows && !parameter.table && !parameter.hasDefault ? pythonType(feature.dtype) : undefined;
    if (!type) return undefined;
    inputs.push({ path: pathOf(namespace, parameter).slice(namespace.length + 1), type });
  }
  const outputs: TranslatedOutput[] = [];
  for (const fqn of resolver.outputs) {
    const feature = scalars.get(fqn);
    const expression = resolver.translated[fqn];
    const type = feature && !feature.featureTime ? pythonType(feature.dtype) : undefined;
    if (!type || !expression) return undefined;
    outputs.push({ fqn, expression, type });
  }
  return compileTranslation(inputs, outputs);
}
