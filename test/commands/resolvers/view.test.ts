import { expect, test } from "bun:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ResolverInputSchema } from "../../../gen/svc/v1/graph_pb.ts";
import { inputPaths } from "../../../src/commands/resolvers/view.ts";

test("what a resolver takes is told as paths from its root class", () => {
  const paths = (input: MessageInitShape<typeof ResolverInputSchema>) => inputPaths(create(ResolverInputSchema, input));
  expect(paths({ kind: { case: "feature", value: { path: "flight.origin.latitude" } } })).toEqual(["flight.origin.latitude"]);
  expect(paths({ kind: { case: "rows", value: { path: "user.payments" } } })).toEqual(["user.payments"]);
  expect(paths({ kind: { case: "rows", value: { path: "user.payments", columns: ["payment.amount", "payment.shop.name"] } } })).toEqual([
    "user.payments.amount",
    "user.payments.shop.name",
  ]);
  expect(paths({ kind: { case: "table", value: { columns: ["user.id", "user.name"] } } })).toEqual(["user.id", "user.name"]);
  expect(paths({ kind: { case: "now", value: {} } })).toEqual(["now"]);
});
