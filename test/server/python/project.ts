/** Projects in temporary folders, and pools that run them with a real Python. */

import { expect } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { FeatureValue } from "../../../src/domain/value.ts";
import { createToolchain } from "../../../src/python/create-toolchain.ts";
import { unpackSdk } from "../../../src/python/sdk.ts";
import type { PythonPool, ResolverResult, WorkerLog } from "../../../src/server/python/pool.ts";
import { createWorkerPool, type WorkerPoolOptions } from "../../../src/server/python/worker-pool.ts";

/**
 * Where tests unpack the SDK, whose bytecode is kept beside it, and remember which interpreters
 * there are: not where other users of the machine do.
 */
export const SDK_FOLDER = join(import.meta.dir, "../../../dist/test-sdk");

/**
 * The interpreter that the tests run on. Throws when there is none, because then nothing here is
 * tested.
 */
export async function anyPython(runtime?: string): Promise<string | undefined> {
  const search = await createToolchain({ home: SDK_FOLDER, env: process.env }).findInterpreter(runtime);
  if (!search.found && runtime === undefined) throw new Error(`the tests need Python: ${search.searched.join("; ")}`);
  return search.found?.path;
}

/** Writes files into a new folder, which is removed when the scope that holds it ends. */
export async function writeProject(files: Readonly<Record<string, string | Uint8Array>>): Promise<{ root: string } & AsyncDisposable> {
  const root = await mkdtemp(join(tmpdir(), "svc-project-"));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return { root, [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }) };
}

/** A pool with what it logged. */
export interface TestPool extends AsyncDisposable {
  readonly pool: PythonPool;
  readonly root: string;
  readonly logs: WorkerLog[];
  /** Calls a resolver with one row; parameters by name. */
  row(resolver: string, inputs?: Readonly<Record<string, FeatureValue>>, options?: CallOptions): Promise<ResolverResult>;
  /** Calls a resolver with columns. */
  rows(resolver: string, columns: Readonly<Record<string, FeatureValue[]>>, options?: CallOptions): Promise<ResolverResult>;
  /** The one value of the one output; throws when the row failed. */
  value(resolver: string, inputs?: Readonly<Record<string, FeatureValue>>, options?: CallOptions): Promise<FeatureValue>;
}

/** What a test may say about a call. */
export interface CallOptions {
  readonly deadlineMs?: number;
  readonly queryId?: string;
  readonly queryContext?: Readonly<Record<string, FeatureValue>>;
  readonly tags?: readonly string[];
}

/** Deadline of calls that are expected to end by themselves. */
const PATIENT_MS = 20_000;

/** Starts a pool on a project whose modules are given. `resolvers` are those that must be there. */
export async function startPool(
  files: Readonly<Record<string, string | Uint8Array>>,
  options: Partial<WorkerPoolOptions> = {},
): Promise<TestPool> {
  const project = await writeProject(files);
  const sockets = await mkdtemp(join(tmpdir(), "svc-sock-"));
  const logs: WorkerLog[] = [];
  const cleanUp = async () => {
    await project[Symbol.asyncDispose]();
    await rm(sockets, { recursive: true, force: true });
  };
  let pool: PythonPool;
  try {
    pool = await createWorkerPool({
      python: (await anyPython()) as string,
      sdkRoot: await unpackSdk(SDK_FOLDER),
      sourceRoot: project.root,
      env: { PATH: process.env.PATH },
      size: 1,
      socketDir: sockets,
      onLog: (line) => logs.push(line),
      clock: { now: Date.now, sleep: (ms) => Bun.sleep(ms) },
      deploymentId: "dpl_test",
      environmentName: "production",
      defaultTimeoutMs: PATIENT_MS,
      resolverFqns: ["mod.first"],
      ...options,
    });
  } catch (error) {
    await cleanUp();
    throw error;
  }
  const call: TestPool["rows"] = (resolver, columns, wanted = {}) => {
    const rows = Math.max(1, ...Object.values(columns).map((values) => values.length));
    return pool.call({
      resolver,
      rows,
      columns,
      now: Array.from({ length: rows }, () => "2024-05-01T12:00:00.000000Z"),
      deadlineMs: wanted.deadlineMs ?? PATIENT_MS,
      context: { queryId: wanted.queryId ?? "q-1", traceId: "t-1", tags: wanted.tags ?? [], queryContext: wanted.queryContext ?? {} },
    });
  };
  const row: TestPool["row"] = (resolver, inputs = {}, wanted) =>
    call(resolver, Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, [value]])), wanted);
  return {
    pool,
    root: project.root,
    logs,
    rows: call,
    row,
    value: async (resolver, inputs, wanted) => {
      const result = await row(resolver, inputs, wanted);
      expect(result.errors).toEqual([]);
      return Object.values(result.columns)[0]?.[0] as FeatureValue;
    },
    [Symbol.asyncDispose]: async () => {
      await pool.drain(0);
      await cleanUp();
    },
  };
}

/** A project's module `mod` with a class `Thing`, whose fields and resolvers are given. */
export function module(fields: string, resolvers: string): Record<string, string> {
  const lines = [
    "import os, sys, time, threading, asyncio, ctypes, signal, logging",
    "from dataclasses import dataclass",
    "from datetime import date, datetime, timedelta, timezone",
    "from decimal import Decimal",
    "from enum import Enum",
    "from typing import Any, Optional",
    "from svc import online, Now, svc_logger",
    "from svc.features import features, feature, Features",
    "",
  ];
  return { "mod.py": `${lines.join("\n")}\n${fields}\n\n${resolvers}\n` };
}
