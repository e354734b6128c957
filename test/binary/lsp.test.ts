/** The language server out of the compiled binary. */

import { expect, test } from "bun:test";
import { RenameRequest, type WorkspaceEdit } from "vscode-languageserver-protocol/node";
import { Editor } from "../harness/editor.ts";
import { Sandbox } from "../harness/sandbox.ts";

const FEATURES = `from svc.features import features


@features
class User:
    id: int
    name: str
`;

test("findings, completion, hover and renaming, with the SDK that the binary carries", async () => {
  await using sandbox = new Sandbox();
  await using editor = new Editor({ "svc.yaml": "project: editor\n", "features.py": FEATURES }, [sandbox.binary, "lsp"]);
  await editor.start();
  await editor.open("features.py");
  await editor.findings("features.py", (found) => found.some(({ code }) => code === 163));
  expect(await editor.hover("features.py", FEATURES.replace("name", "na|>me"))).toContain("user.name: str");
  const resolver = "from features import User\nfrom svc import online\n\n\n@online\ndef f(id: User.|>) -> User.name:\n    return str(id)\n";
  await editor.open("resolvers.py", resolver.replace("|>", "id"));
  expect(await editor.labels("resolvers.py", resolver)).toEqual(["id", "name"]);
  const answer = (await editor.connection.sendRequest(RenameRequest.type, {
    ...(await editor.at("features.py", FEATURES.replace("name", "na|>me"))),
    newName: "label",
  })) as WorkspaceEdit;
  expect(editor.edited(answer)).toEqual({
    "features.py": FEATURES.replace("name", "label"),
    "resolvers.py": resolver.replace("User.|>", "User.").replace("User.name", "User.label"),
  });
  expect(await editor.stop()).toBe(0);
}, 300_000);
