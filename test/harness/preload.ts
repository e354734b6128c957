/** Loaded before the files of each test process (`bunfig.toml`): a hook made here runs once, after all of them. */

import { afterAll } from "bun:test";
import { end } from "./end-of-process.ts";

afterAll(end);
