/** Rules about features that models compute: 137. */

import { message, rule } from "./rule.ts";

const embedded = (type: string): string =>
  `from svc.embedding import embed


@features
class Doc:
    id: int
    text: str = ""
    emb: ${type} = embed(input=lambda: Doc.text, model="m")
`;

export const BAD_MODEL_CALL = rule(
  {
    code: 137,
    id: "bad-model-call",
    title: "A model cannot compute the feature",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "`embed` takes a `str` and gives a `Vector[...]` or a `list[float]`. `completion` gives a `str`, a `PromptResponse`, or a @dataclass whose fields are " +
      "numbers, texts, bools, dates, enums, lists and such dataclasses.",
    why: "Each value would be refused, after it was paid for.",
    example: { broken: { "features.py": embedded("str") }, mended: { "features.py": embedded("Vector[768]") } },
  },
  {
    noAnswer: message(
      "'{feature}' is {type}: a completion is a str, a PromptResponse, or a @dataclass that says what to answer",
      "no answer",
    ),
    noSchema: message(
      "'{feature}' has values of type {type}, which a model cannot be asked for: write str, int, float, bool or an Enum",
      "no such answer",
    ),
    noStructure: message("output_structure is {structure}: write a @dataclass", "no structure"),
    noText: message("'{feature}' is made of '{input}', which is {type}: a model embeds a str", "no text"),
    noVector: message(
      "'{feature}' is {type}, and a model gives a vector: write Vector[768], with the model's number of dimensions",
      "no vector",
    ),
    twoStructures: message(
      "'{feature}' is {type}: output_structure is of a PromptResponse; take it out, or annotate PromptResponse",
      "not of this type",
    ),
  },
);
