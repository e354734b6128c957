import { expect, test } from "bun:test";
import { messageText, partitionText } from "../../../../src/ui/pages/deploy/stream-text.ts";

test("a partition says how far it was read, how far that is from the end, and by whom", () => {
  const read = { partition: 2, node: "n1", offset: "7", latest: "9", lag: "2" };
  expect(partitionText(read)).toBe("Partition 2: at 7 of 9, 2 to read");
  expect(partitionText({ node: "n1", latest: "0", lag: "0" })).toBe("Partition 0: nothing was read yet, nor pushed");
  expect(partitionText({ latest: "3", lag: "3" })).toBe("Partition 0: nothing was read yet of 3, 3 to read, read by no node");
  expect(partitionText({ node: "n1", offset: "1", problem: "no broker" })).toBe("Partition 0: at 1: no broker");
});

test("a message's beginning is text, whatever its bytes are", () => {
  expect(messageText(Buffer.from("äöü").toString("base64"))).toBe("äöü");
  expect(messageText(Buffer.from([0xff, 0x61]).toString("base64"))).toBe("\ufffda");
  expect(messageText(Buffer.from("x".repeat(9_000)).toString("base64"))).toBe("x".repeat(2_000));
  expect(messageText()).toBe("");
});
