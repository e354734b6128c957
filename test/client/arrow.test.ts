/**
 * Tables of Arrow by the clients of other languages, each with its language's own library:
 * apache-arrow, arrow-go, arrow-java. That of Python is tested with its tables.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, readdirSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { lacksGo, run } from "../codegen/tools.ts";
import { lacks, lacksProgram } from "../harness/needs.ts";
import { type ConformanceServer, startConformanceServer } from "./conformance/server.ts";
import { tempFolder } from "./test-context.ts";

const HERE = join(import.meta.dir, "arrow");
const HARNESS = join(import.meta.dir, "../harness");

/** Where `.ci/install` puts the libraries. */
const LIBRARIES = process.env.SVC_TEST_ARROW ?? join(homedir(), ".cache/svc-test/arrow");
const lacksLibrary = (name: string) => lacks(`arrow-${name}`, existsSync(join(LIBRARIES, name)));

let server: ConformanceServer;

beforeAll(async () => {
  server = await startConformanceServer();
}, 600_000);
afterAll(() => server.stop());

describe("a table goes to a bulk query, and its answer comes so", () => {
  const expected = {
    ids: ["13", "9007199254740993"],
    names: ["user-13", "user-9007199254740993"],
    fragile: [null, "9007199254740993"],
    time: String(Date.UTC(2024, 4, 1, 12) * 1000),
    errors: ["RESOLVER_FAILED 0"],
    // Ids from 0 to 4999, halved: an answer of this length comes compressed where a client asks for it.
    sum: (4999 * 5000) / 4,
    refused: expect.stringContaining("did you mean 'user.name'"),
  };

  for (const runtime of ["node", process.execPath])
    test.skipIf(runtime === "node" && lacksProgram("node"))(
      `TypeScript on ${runtime === "node" ? "Node" : "Bun"}`,
      async () => {
        const cwd = tempFolder("svc-arrow-");
        cpSync(join(server.modules, "node_modules"), join(cwd, "node_modules"), { recursive: true });
        const root = join(import.meta.dir, "../../node_modules");
        for (const name of ["apache-arrow", "flatbuffers", "tslib"]) symlinkSync(join(root, name), join(cwd, "node_modules", name));
        cpSync(join(HERE, "typescript.mjs"), join(cwd, "program.mjs"));
        const said = await run([runtime, "--preserve-symlinks", "program.mjs"], { cwd, env: server.env });
        expect(JSON.parse(said)).toEqual({ ...expected, types: "int64" });
      },
      600_000,
    );

  test.skipIf(lacksGo() || lacksLibrary("go"))(
    "Go",
    async () => {
      const cwd = tempFolder("svc-arrow-");
      await server.codegen("go", join(cwd, "features/features.go"));
      for (const name of ["go.mod", "go.sum"]) cpSync(join(HARNESS, "arrow-go", name), join(cwd, name));
      cpSync(join(HERE, "main.go"), join(cwd, "main.go"));
      symlinkSync(join(LIBRARIES, "go"), join(cwd, "vendor"));
      await run(["go", "build", "-mod=vendor", "-o", "program", "."], { cwd, env: { GOTOOLCHAIN: "local", GOPROXY: "off" } });
      const said = await run([join(cwd, "program")], { cwd, env: server.env });
      expect(JSON.parse(said)).toEqual(expected);
    },
    600_000,
  );

  test.skipIf(lacksProgram("javac", "java") || lacksLibrary("java"))(
    "Java",
    async () => {
      const cwd = tempFolder("svc-arrow-");
      const sources = join(cwd, "com/example/arrow");
      await server.codegen("java", sources, "--package", "com.example.arrow");
      cpSync(join(HERE, "Main.java"), join(sources, "Main.java"));
      const jars = join(LIBRARIES, "java/*");
      await run(["javac", "--release", "11", "-cp", jars, "-d", "out", ...readdirSync(sources).map((name) => join(sources, name))], {
        cwd,
      });
      const opened = ["--add-opens=java.base/java.nio=ALL-UNNAMED", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"];
      const said = await run(["java", ...opened, "-cp", `out:${jars}`, "com.example.arrow.Main"], { cwd, env: server.env });
      expect(JSON.parse(said)).toEqual(expected);
    },
    600_000,
  );
});
