import { expect, test } from "bun:test";
import { fromBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { QueryResponseSchema } from "../../../../gen/svc/v1/query_pb.ts";
import { answerToProto } from "../../../../src/server/query/answer/answer.ts";
import { answerToBinary } from "../../../../src/server/query/answer/answer-bytes.ts";
import { seeded } from "../../../harness/seed.ts";
import { anyAnswer } from "../random-answers.ts";

test("the bytes are those of the message, whatever the answer holds", () => {
  fc.assert(
    fc.property(anyAnswer, fc.webUrl(), ({ answer, includeMeta }, url) => {
      const message = answerToProto(answer, includeMeta, url);
      const bytes = answerToBinary(answer, includeMeta, url);
      expect(fromBinary(QueryResponseSchema, bytes)).toEqual(message);
      // The second time with what the first kept of the shape.
      expect(answerToBinary(answer, includeMeta, url)).toEqual(bytes);
    }),
    seeded(100),
  );
});
