/**
 * The thread that computes expressions of feature classes which are not deployed: other requests do
 * not wait for it, and it can be ended.
 */

import { fromJson } from "@bufbuild/protobuf";
import { type Graph, GraphSchema } from "../../../../gen/svc/v1/graph_pb.ts";
import { errorText } from "../../../domain/error-text.ts";
import { QueryRefused, type Refusal } from "../../query/refusal.ts";
import { createStandalone, type Standalone } from "../../query/standalone.ts";
import { serve } from "../../thread/rpc.ts";
import { JsonRefused, jsonText } from "../http/json-text.ts";
import { answerToText } from "./answer-json.ts";
import { BodyInvalid, readExpressionBody } from "./query-body.ts";

/** The text of an answer, why the body is no request, or what is wrong with the request. */
export type Evaluated = { readonly answer: string } | { readonly invalid: string } | { readonly errors: readonly Refusal[] };

/** Computes expressions. The classes of the last request are kept: tests ask about few. */
export class Evaluator {
  #last: { readonly graph: string; readonly answer: Standalone } | undefined;

  /**
   * Answers the body of a request.
   * @param now epoch milliseconds at which it was received
   */
  async evaluate(bytes: Uint8Array, now: number): Promise<Evaluated> {
    try {
      const { body, graph } = readExpressionBody(bytes);
      if (this.#last?.graph !== graph) this.#last = { graph, answer: createStandalone(graphOf(graph)) };
      return { answer: answerToText(await this.#last.answer(body.request, now), body) };
    } catch (error) {
      if (error instanceof BodyInvalid || error instanceof JsonRefused) return { invalid: error.message };
      if (error instanceof QueryRefused) return { errors: error.errors };
      if (error instanceof RangeError) return { invalid: `the expressions are too deep or their values too large: ${error.message}` };
      throw error;
    }
  }
}

/** The graph of its proto3 JSON. Throws BodyInvalid, JsonRefused, RangeError for one too deep. */
function graphOf(text: string): Graph {
  const json = jsonText(Buffer.from(text)).text;
  try {
    return fromJson(GraphSchema, JSON.parse(json));
  } catch (error) {
    if (error instanceof RangeError) throw error;
    throw new BodyInvalid(`graph: expected svc.v1.Graph in proto3 JSON, as text: ${errorText(error)}`);
  }
}

serve<Evaluator, null>({ make: () => new Evaluator(), close: () => undefined });
