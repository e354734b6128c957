/** What the Java client does with answers that a real server does not give: a fake server's. */

import { expect, test } from "bun:test";
import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type FakeServer, fakeServer } from "../client/fake-server.ts";
import { tempFolder } from "../client/test-context.ts";
import { lacksProgram } from "../harness/needs.ts";
import { run } from "./tools.ts";

const SOURCES = join(import.meta.dir, "../../src/codegen/java");

const PROGRAM = `package features;

public final class Main {
  public static void main(String[] args) {
    SvcClient client = new SvcClient();
    for (String word : args) {
      try {
        SvcClient.Query query = new SvcClient.Query().output(Feature.named("user.name")).context(java.util.Map.of("case", word));
        System.out.println(Feature.named("user.name").in(client.query(query)).toString().length());
      } catch (SvcException error) {
        System.out.println(error.code() + " " + error.getMessage());
      }
    }
  }
}
`;

const jsonOf = (name: string) => Buffer.from(JSON.stringify({ data: [{ field: "user.name", value: name }], errors: [], meta: {} }));

/** Compressed bytes with another length at their end. */
function withLength(packed: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const changed = new Uint8Array(packed);
  new DataView(changed.buffer).setUint32(changed.length - 4, length, true);
  return changed;
}

const long = jsonOf("x".repeat(100_000));
const BODIES: Readonly<Record<string, () => Uint8Array<ArrayBuffer>>> = {
  packed: () => Bun.gzipSync(long),
  bomb: () => Bun.gzipSync(Buffer.alloc(2 ** 30 + 1)),
  liar: () => withLength(Bun.gzipSync(long), 10),
  boaster: () => withLength(Bun.gzipSync(long), 2 ** 30),
  broken: () => Bun.gzipSync(long).slice(0, 60),
  plain: () => new Uint8Array(Buffer.from("no gzip at all")),
};

test.skipIf(lacksProgram("javac", "java"))(
  "answers are asked for and read in gzip, up to a bound",
  async () => {
    const cwd = tempFolder("svc-java-");
    const sources = join(cwd, "features");
    mkdirSync(sources);
    for (const name of readdirSync(SOURCES)) if (name.endsWith(".java")) cpSync(join(SOURCES, name), join(sources, name));
    writeFileSync(join(sources, "Main.java"), PROGRAM);
    await run(["javac", "-d", "out", ...readdirSync(sources).map((name) => join(sources, name))], { cwd });
    const fake: FakeServer = fakeServer({
      call: async (request) => {
        expect(request.headers.get("accept-encoding")).toBe("gzip");
        const asked = ((await request.json()) as { query_context: { case: string } }).query_context.case;
        return new Response(BODIES[asked]?.(), { headers: { "content-type": "application/json", "content-encoding": "gzip" } });
      },
    });
    try {
      const env = { SVC_CLIENT_ID: "id", SVC_CLIENT_SECRET: "secret", SVC_API_SERVER: fake.url };
      const said = await run(["java", "-Xmx256m", "-cp", "out", "features.Main", ...Object.keys(BODIES)], { cwd, env });
      expect(said.trim().split("\n")).toEqual([
        "100000",
        // What broke off ends with any four bytes: here, with those of a great length.
        ...["more than 1 GiB", "another length than it says", "Corrupt GZIP trailer", "more than 1 GiB", "Not in GZIP format"].map((text) =>
          expect.stringMatching(new RegExp(`^unexpected_answer http[^ ]+: it answers with .*${text}$`)),
        ),
      ]);
      // None of them is asked for again.
      expect(fake.requests.length).toBe(1 + Object.keys(BODIES).length);
    } finally {
      await fake.stop();
    }
  },
  600_000,
);
