/** What every container engine must do. A driver passes by being named in `engines.test.ts`. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { tarEntry } from "../../../src/domain/tar/writer.ts";
import type { ContainerEngine, EngineOutput, NewContainer, NewExec, NewImage } from "../../../src/server/engines/container-engine.ts";
import { eventually } from "../../harness/eventually.ts";
import { failureOf } from "../../harness/failure-of.ts";

/** What a driver may be unable to keep. It refuses that, in words. */
type Unkept = "no network" | "memory" | "volumes" | "images";
export type Refusals = Readonly<Partial<Record<Unkept, string>>>;

/** A driver under test. */
export interface EngineUnderTest {
  readonly engine: ContainerEngine;
  /** An image with busybox's programs, or where they are. */
  readonly image: string;
  /** Names of all containers that the engine itself says are there. */
  containers(): readonly string[] | Promise<readonly string[]>;
  /** Whether it tells errors from output. */
  readonly splitsOutput: boolean;
  /** An image that is not there, and words that say so. */
  readonly missing: { readonly image: string; readonly words: string };
  /** A folder that containers can have; undefined = it refuses them. */
  readonly folder: string | undefined;
  /**
   * What a script prints last in a container without a network; `with` is what it prints in one
   * that has one, where that tells more.
   */
  readonly network: { readonly script: string; readonly without: string; readonly with?: string };
  /** Where ports are reached. */
  readonly hosts: RegExp;
  /** Containers in which builds run their steps. */
  builds(): readonly string[];
  close(): Promise<void>;
}

const TEST_MS = 120_000;

/** The suite. @param refusals what the driver cannot keep, with words of its refusal */
export function engineConformance(name: string, open: () => Promise<EngineUnderTest>, refusals: Refusals = {}): void {
  const keeps = (one: Unkept): boolean => refusals[one] === undefined;
  describe(name, () => {
    let under: EngineUnderTest;
    let engine: ContainerEngine;
    const { signal } = new AbortController();

    beforeAll(async () => {
      under = await open();
      ({ engine } = under);
    }, TEST_MS);
    afterAll(async () => {
      await under?.close();
    }, TEST_MS);

    const wanted = (more: Partial<NewContainer>): NewContainer => ({
      ...{ name: `c-${crypto.randomUUID()}`, image: under.image, entrypoint: [], arguments: [], env: {}, labels: { suite: "engine" } },
      ...{ cpus: undefined, memoryBytes: undefined, hasNetwork: !keeps("no network"), port: undefined, mounts: [], isRestricted: false },
      ...more,
    });
    /** Makes, starts and in the end removes a container. */
    const withContainer = async <T>(more: Partial<NewContainer>, use: (id: string) => Promise<T>): Promise<T> => {
      const id = await engine.create(wanted(more), signal);
      try {
        await engine.start(id);
        return await use(id);
      } finally {
        await engine.remove(id);
      }
    };
    const lines = async (id: string, after = 0): Promise<EngineOutput[]> => Array.fromAsync(engine.output(id, after, signal));
    const shell = (script: string): Pick<NewContainer, "entrypoint" | "arguments"> => ({
      entrypoint: ["/bin/sh"],
      arguments: ["-c", script],
    });

    test("says what it is", async () => {
      const { kind, version, address } = await engine.describe(signal);
      expect([kind, version, address].every((text) => text !== "")).toBe(true);
    });

    test(
      "a program's output, exit code and times are told",
      async () => {
        await withContainer(shell("echo out; echo err >&2; printf 'no end'; exit 3"), async (id) => {
          await engine.waitForEnd(id, signal);
          const { state, exitCode, startedAt = 0, endedAt = 0, labels } = (await engine.inspect(id)) ?? {};
          expect([state, exitCode, labels?.suite, startedAt > 0 && startedAt <= endedAt]).toEqual(["exited", 3, "engine", true]);
          const said = (await lines(id)).map(({ line, stream }) => `${stream} ${line}`);
          const err = under.splitsOutput ? "stderr err" : "stdout err";
          expect(said.toSorted()).toEqual([err, "stdout no end", "stdout out"]);
        });
      },
      TEST_MS,
    );

    test(
      "a line that is longer than what engines take at once is one line",
      async () => {
        await withContainer(shell("head -c 12000 /dev/zero | tr '\\0' x; echo; echo next"), async (id) => {
          await engine.waitForEnd(id, signal);
          expect((await lines(id)).map(({ line }) => line)).toEqual(["x".repeat(12_000), "next"]);
        });
      },
      TEST_MS,
    );

    test(
      "output is followed while it comes, and not repeated from a later time on",
      async () => {
        await withContainer(shell("echo one; sleep 600"), async (id) => {
          for await (const { at, line } of engine.output(id, 0, signal)) {
            expect(line).toBe("one");
            await engine.stop(id, 0);
            expect((await lines(id, at)).map((one) => one.line)).toEqual(["one"]);
            expect(await lines(id, at + 1)).toEqual([]);
            break;
          }
        });
      },
      TEST_MS,
    );

    test(
      "what it is given is there: arguments and variables, in a folder that it may write to",
      async () => {
        const script = "echo \"$0 $1 $A\" '$(A) $$(A) $$' > file; cat file";
        const said = await withContainer(
          { entrypoint: ["/bin/sh", "-c", script], arguments: ["zero", "o n e"], env: { A: "b=c d" } },
          async (id) => {
            await engine.waitForEnd(id, signal);
            return (await lines(id)).map(({ line }) => line);
          },
        );
        expect(said).toEqual(["zero o n e b=c d $(A) $$(A) $$"]);
      },
      TEST_MS,
    );

    const refused: readonly (readonly [Unkept, Partial<NewContainer>])[] = [
      ["no network", { hasNetwork: false }],
      ["memory", { memoryBytes: 16 * 1024 * 1024 }],
      ["volumes", { mounts: [{ source: "/data", path: "/data" }] }],
    ];
    test.each(refused.filter(([one]) => !keeps(one)))("what is not kept is refused, and leaves nothing: %s", async (one, more) => {
      const before = await under.containers();
      const { kind, message, detail } = await failureOf(engine.create(wanted({ ...shell("true"), ...more }), signal));
      expect([kind, message, detail.hint]).toEqual([
        "failed_precondition",
        expect.stringContaining(refusals[one] ?? ""),
        expect.any(String),
      ]);
      expect(await under.containers()).toEqual(before);
    });

    const testIf = (isKept: boolean) => (isKept ? test : () => undefined);
    testIf(keeps("volumes"))(
      "folders are there",
      async () => {
        const { folder = "" } = under;
        await withContainer({ ...shell("echo kept > /data/file"), mounts: [{ source: folder, path: "/data" }] }, async (id) =>
          engine.waitForEnd(id, signal),
        );
        expect(readFileSync(join(folder, "file"), "utf8")).toBe("kept\n");
      },
      TEST_MS,
    );

    testIf(keeps("no network"))(
      "one without a network has its own machine alone",
      async () => {
        const { network } = under;
        const said = (hasNetwork: boolean) =>
          withContainer({ ...shell(network.script), hasNetwork }, async (id) => {
            await engine.waitForEnd(id, signal);
            return (await lines(id)).at(-1)?.line.trim();
          });
        if (network.with !== undefined) expect(await said(true)).toBe(network.with);
        expect(await said(false)).toBe(network.without);
      },
      TEST_MS,
    );

    test(
      "a port is reached from this machine while it runs",
      async () => {
        const serving = shell("echo hello > index.html; exec busybox httpd -f -p ${PORT:-8080} -h .");
        await withContainer({ ...serving, hasNetwork: true, port: 8080 }, async (id) => {
          const { address } = (await engine.inspect(id)) ?? {};
          expect(address?.host).toMatch(under.hosts);
          await eventually(
            async () =>
              (await fetch(`http://${address?.host}:${address?.port}/`).then(
                (one) => one.text(),
                () => "",
              )) === "hello\n",
            "an answer of the container",
          );
          await engine.stop(id, 0);
          expect((await engine.inspect(id))?.address).toBeUndefined();
        });
      },
      TEST_MS,
    );

    testIf(keeps("memory"))(
      "a limit of memory ends what goes beyond it",
      async () => {
        const limited = { ...shell("x=0123456789abcdef; while :; do x=$x$x; done"), memoryBytes: 16 * 1024 * 1024 };
        await withContainer(limited, async (id) => {
          await engine.waitForEnd(id, signal);
          // Not every engine says why.
          expect((await engine.inspect(id))?.exitCode).toBe(137);
        });
      },
      TEST_MS,
    );

    test(
      "its use is measured while it runs",
      async () => {
        await withContainer(shell("while :; do :; done"), async (id) => {
          await eventually(async () => ((await engine.use(id))?.cpuSeconds ?? 0) > 0.05, "processor time");
          expect((await engine.use(id))?.memoryBytes).toBeGreaterThan(0);
          await engine.stop(id, 0);
          expect(await engine.use(id)).toBeUndefined();
        });
      },
      TEST_MS,
    );

    test(
      "stopping lets a program end by itself, and then does not",
      async () => {
        await withContainer(shell("trap 'echo ending; exit 0' TERM; echo ready; while :; do sleep 1 & wait $!; done"), async (id) => {
          await eventually(async () => (await first(engine.output(id, 0, signal)))?.line === "ready", "its first line");
          await engine.stop(id, 60_000);
          expect([(await engine.inspect(id))?.exitCode, (await lines(id)).at(-1)?.line]).toEqual([0, "ending"]);
        });
        await withContainer(shell("trap '' TERM; echo ready; while :; do sleep 1; done"), async (id) => {
          await eventually(async () => (await first(engine.output(id, 0, signal)))?.line === "ready", "its first line");
          await engine.stop(id, 1_000);
          expect((await engine.inspect(id))?.exitCode).toBe(137);
        });
      },
      TEST_MS,
    );

    test(
      "its first process is sent signals, in the folder that it was given",
      async () => {
        const trapping = shell("trap 'pwd; exit 4' USR1; echo ready; while :; do sleep 1 & wait $!; done");
        await withContainer({ ...trapping, workdir: "/proc" }, async (id) => {
          await eventually(async () => (await first(engine.output(id, 0, signal)))?.line === "ready", "its first line");
          await engine.signal(id, "SIGUSR1");
          await engine.waitForEnd(id, signal);
          expect([(await engine.inspect(id))?.exitCode, (await lines(id)).at(-1)?.line]).toEqual([4, "/proc"]);
          await engine.signal(id, "SIGUSR1");
        });
      },
      TEST_MS,
    );

    test(
      "those with a label are listed, running or not",
      async () => {
        const labels = { mark: crypto.randomUUID() };
        await withContainer({ ...shell("sleep 600"), labels }, async (running) =>
          withContainer({ ...shell("true"), labels }, async (ended) => {
            await engine.waitForEnd(ended, signal);
            const found = await engine.list("mark", labels.mark);
            expect(found.map(({ id, state }) => [id, state]).toSorted()).toEqual(
              [
                [running, "running"],
                [ended, "exited"],
              ].toSorted(),
            );
          }),
        );
      },
      TEST_MS,
    );

    test(
      "what is not there is told apart from what is refused, and leaves nothing",
      async () => {
        const before = await under.containers();
        const { image, words } = under.missing;
        const missing = await failureOf(withContainer({ ...shell("true"), image }, () => Promise.resolve()));
        expect([missing.kind, missing.message]).toEqual(["not_found", expect.stringContaining(words)]);
        const id = await engine.create(wanted({ entrypoint: ["/no/such/program"] }), signal);
        const unstartable = await failureOf(engine.start(id));
        expect([unstartable.kind, unstartable.message]).toEqual(["invalid_argument", expect.stringContaining("/no/such/program")]);
        await engine.remove(id);
        expect(await engine.inspect(id)).toBeUndefined();
        await engine.remove(id);
        await engine.stop(id, 0);
        await engine.waitForEnd(id, signal);
        expect(await lines(id)).toEqual([]);
        expect(await under.containers()).toEqual(before);
      },
      TEST_MS,
    );

    if (!keeps("images"))
      test("making an image is refused in words", async () => {
        const words = { kind: "failed_precondition", message: expect.stringContaining(refusals.images ?? "") };
        expect(await failureOf(engine.fetchImage(under.image, signal))).toMatchObject(words);
        expect(await failureOf(engine.commit("none", "a:b", signal))).toMatchObject(words);
      });
    (keeps("images") ? describe : () => undefined)("an image", () => {
      const tag = (): string => `localhost/svc-test/built:${crypto.randomUUID()}`;
      const built = async (dockerfile: string, more: Partial<NewImage> = {}): Promise<readonly string[]> => {
        const said: string[] = [];
        await engine.build(
          {
            ...{ tag: tag(), dockerfile, context: contextOf({}), labels: {} },
            onLine: (line) => said.push(line),
            ...more,
          },
          signal,
        );
        return said;
      };
      async function* contextOf(files: Readonly<Record<string, string>>): AsyncGenerator<Uint8Array> {
        for (const [path, text] of Object.entries(files)) yield* tarEntry({ path, content: Buffer.from(text), mode: 0o644, time: 0 });
      }

      test(
        "is built of what it is given, found by its label, run, and removed once no container has it",
        async () => {
          const [name, mark] = [tag(), crypto.randomUUID()];
          const said = await built(`FROM ${under.image}\nRUN echo "step says" hello\nCOPY files/ /files/\nENV A="b c"\nWORKDIR /files\n`, {
            tag: name,
            context: contextOf({ "files/one.txt": "one\n", "files/deep/two.txt": "two\n" }),
            labels: { mark },
          });
          expect(said).toContain("step says hello");
          expect((await engine.images("mark", mark)).flatMap(({ tags }) => tags)).toEqual([name]);
          expect(await engine.image(name)).toMatchObject({ labels: { mark }, env: { A: "b c" } });
          expect((await engine.image(name))?.createdAt).toBeGreaterThan(0);
          await withContainer({ ...shell("cat one.txt deep/two.txt; echo $A"), image: name }, async (id) => {
            await engine.waitForEnd(id, signal);
            expect((await lines(id)).map(({ line }) => line)).toEqual(["one", "two", "b c"]);
            expect(await engine.removeImage(name)).toBe(false);
          });
          expect(await engine.removeImage(name)).toBe(true);
          expect([await engine.image(name), await engine.images("mark", mark), await engine.removeImage(name)]).toEqual([
            undefined,
            [],
            true,
          ]);
        },
        TEST_MS,
      );

      test(
        "is made of the disk of a container, without what is mounted there",
        async () => {
          const name = tag();
          const script = "echo kept > /kept; echo more > /data/more; cat /read-only/file; echo x > /read-only/x; id -u";
          const source = under.folder ?? "";
          const mounts = [
            { source, path: "/data" },
            { source, path: "/read-only", isReadOnly: true },
          ];
          await Bun.write(join(source, "file"), "mounted\n");
          await withContainer({ ...shell(script), mounts, user: "0" }, async (id) => {
            await engine.waitForEnd(id, signal);
            const said = (await lines(id)).map(({ line }) => line).toSorted();
            expect(said).toEqual([expect.stringContaining("Read-only file system"), "0", "mounted"]);
            await engine.commit(id, name, signal);
          });
          await withContainer({ ...shell("cat /kept; ls /data"), image: name }, async (id) => {
            await engine.waitForEnd(id, signal);
            expect((await lines(id)).map(({ line }) => line)).toEqual(["kept"]);
          });
          expect((await engine.image(name))?.labels.suite).toBe("engine");
          expect(await engine.removeImage(name)).toBe(true);
        },
        TEST_MS,
      );

      test(
        "is not made when a step fails, which is told, with its output",
        async () => {
          const name = tag();
          const said: string[] = [];
          const failed = await failureOf(
            built(`FROM ${under.image}\nRUN echo before; echo the reason >&2; exit 3\n`, { tag: name, onLine: (line) => said.push(line) }),
          );
          expect([failed.kind, failed.message]).toEqual([
            "invalid_argument",
            expect.stringContaining("The container engine could not build the image: "),
          ]);
          expect(said).toContain("before");
          expect(said).toContain("the reason");
          const unknown = await failureOf(built("FROM localhost/none:none\n", { tag: name }));
          expect(unknown.message).toContain("localhost");
          expect((await failureOf(built("FROM scratch\nNONSENSE\n", { tag: name }))).message).toContain("NONSENSE");
          expect(await engine.image(name)).toBeUndefined();
          expect((await failureOf(engine.fetchImage("localhost/none:none", signal))).kind).toBe("not_found");
        },
        TEST_MS,
      );

      test(
        "is not made when its build is cancelled",
        async () => {
          const [name, cancelling, reason, mark] = [tag(), new AbortController(), new Error("cancelled"), `7${process.pid}`];
          const building = engine.build(
            {
              ...{
                tag: name,
                dockerfile: `FROM ${under.image}\nRUN echo begun; sleep 5.${mark}\nRUN touch /end\n`,
                context: contextOf({}),
              },
              ...{ labels: {}, onLine: (line) => line === "begun" && cancelling.abort(reason) },
            },
            cancelling.signal,
          );
          expect(await building.catch((error: unknown) => error)).toBe(reason);
          // Podman lets a step that runs come to its end.
          await eventually(() => under.builds().length === 0, "the end of the build");
          expect(await engine.image(name)).toBeUndefined();
        },
        TEST_MS,
      );
    });

    describe("a command", () => {
      let id: string;
      beforeAll(async () => {
        id = await engine.create(
          wanted({ ...shell("trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"), env: { A: "of all" } }),
          signal,
        );
        await engine.start(id);
      }, TEST_MS);
      afterAll(() => engine.remove(id), TEST_MS);

      const run = async (argv: readonly string[], more: Partial<NewExec> = {}, input?: string) => {
        const said = { stdout: "", stderr: "" };
        let taken = 0;
        const program = await engine.exec(id, {
          ...{ argv, workdir: "", env: {}, terminal: undefined },
          onOutput: (stream, bytes) => {
            said[stream] += Buffer.from(bytes).toString("latin1");
          },
          onTaken: (bytes) => {
            taken += bytes;
          },
          ...more,
        });
        if (input !== undefined) program.write(Buffer.from(input));
        if (input !== undefined) program.endInput();
        return { program, said, taken: () => taken };
      };

      test(
        "has its streams and its exit code",
        async () => {
          const { program, said, taken } = await run(["/bin/sh", "-c", "cat; echo err >&2; exit 7"], {}, "typed\n");
          expect([await program.ended, said, taken()]).toEqual([7, { stdout: "typed\n", stderr: "err\n" }, 6]);
        },
        TEST_MS,
      );

      test(
        "passes megabytes through, whole",
        async () => {
          const input = "0123456789abcdef".repeat(131_072);
          const { program, said } = await run(["cat"], {}, input);
          expect([await program.ended, said.stdout === input]).toEqual([0, true]);
        },
        TEST_MS,
      );

      test(
        "has its folder and variables, and those of the container",
        async () => {
          const { program, said } = await run(["/bin/sh", "-c", "pwd; echo $A, $B"], { workdir: "/dev", env: { B: "of this" } }, "");
          expect([await program.ended, said.stdout]).toEqual([0, "/dev\nof all, of this\n"]);
        },
        TEST_MS,
      );

      test(
        "has a terminal of the size that is wanted, and is told of another",
        async () => {
          const { program, said } = await run(["/bin/sh"], { terminal: { columns: 91, rows: 33 } });
          program.write(Buffer.from("stty size\n"));
          await eventually(() => said.stdout.includes("33 91"), "its size");
          program.resize(72, 21);
          await eventually(() => {
            program.write(Buffer.from("stty size\n"));
            return said.stdout.includes("21 72");
          }, "its new size");
          program.write(Buffer.from("exit 5\n"));
          expect(await program.ended).toBe(5);
        },
        TEST_MS,
      );

      test(
        "is killed with all that it started",
        async () => {
          const { program, said } = await run(["/bin/sh", "-c", "sleep 7777 & echo begun; sleep 7777"]);
          await eventually(() => said.stdout.includes("begun"), "its beginning");
          await program.kill();
          expect(await program.ended).toBe(137);
          const { program: look, said: seen } = await run(["/bin/sh", "-c", "busybox ps -o args | grep -c '^sleep 7777'"], {}, "");
          await look.ended;
          expect(seen.stdout.trim()).toBe("0");
        },
        TEST_MS,
      );

      test(
        "that is not there is told",
        async () => {
          const { program, said } = await run(["no-such-program"], {}, "");
          expect([await program.ended, said.stderr + said.stdout]).toEqual([127, expect.stringContaining("no-such-program")]);
        },
        TEST_MS,
      );
    });
  });
}

/** The first line; undefined when there is none. */
async function first(output: AsyncIterable<EngineOutput>): Promise<EngineOutput | undefined> {
  for await (const line of output) return line;
  return undefined;
}
