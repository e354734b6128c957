/**
 * The replicas of a group on this node: as many as there should be, started, asked whether they
 * answer, replaced when they do not, and given requests. What is in the engine is found again by
 * the group's id; everything else is forgotten with this process.
 */

import { errorText } from "../../domain/error-text.ts";
import { quantityValue } from "../../domain/quantity.ts";
import type { Caller } from "../access/tokens.ts";
import { hasEnded, type StoredContainer } from "../containers/container-records.ts";
import type { Containers } from "../containers/containers.ts";
import { Failure } from "../failure.ts";
import type { ServerAddress } from "../http1/connections.ts";
import type { Log } from "../log.ts";
import { backoffMs, type Measure, stillCounting, wantedByLoad } from "./autoscaling.ts";
import { type Group, type GroupContent, specOf } from "./group-records.ts";
import type { HealthFault } from "./health-check.ts";

/** How a group takes its time, in milliseconds. */
export interface Pace {
  /** Between two looks at replicas of which none is started. */
  readonly lookMs: number;
  /** Between two questions to a replica that does not answer yet. */
  readonly startingMs: number;
  /** Between two questions to one that answers. */
  readonly checkMs: number;
  /** Until a replica has to answer. */
  readonly answerMs: number;
  /** For which one that answered does not, until another takes its place. */
  readonly failMs: number;
  /** Between two measures. */
  readonly measureMs: number;
  /** Without a request, until a group that may have none has no replicas. */
  readonly idleMs: number;
  /** For which a request waits for a replica. */
  readonly holdMs: number;
  /** For which a replica that is to end may go on with its requests. */
  readonly drainMs: number;
  /** For which a replica answers until those that failed before it are forgotten. */
  readonly steadyMs: number;
}

/** The pace of a server. */
export const PACE: Pace = {
  lookMs: 1_000,
  startingMs: 25,
  checkMs: 5_000,
  answerMs: 120_000,
  failMs: 15_000,
  measureMs: 5_000,
  idleMs: 60_000,
  holdMs: 60_000,
  drainMs: 30_000,
  steadyMs: 30_000,
};

/** What the replicas of a group depend on. */
export interface ReplicaSetParts {
  readonly containers: Pick<Containers, "run" | "stop" | "find" | "address" | "use">;
  /**
   * What a replica of the group is made of. Rejects with Failure when its environment runs nothing.
   */
  readonly wishOf: (group: Group) => Promise<Pick<Parameters<Containers["run"]>[0], "environment" | "spec">>;
  /** Why a server does not answer; undefined when it does. */
  readonly check: (address: ServerAddress, isGrpc: boolean) => Promise<HealthFault | undefined>;
  /** Processors of this machine. */
  readonly processors: number;
  readonly pace: Pace;
  /** Milliseconds. */
  readonly now: () => number;
  readonly log: Log;
  /** Told that what people see of a group has changed, and what happened, if it is of note. */
  readonly note: (group: Group, event?: GroupEvent) => void;
}

/** Something that happened to a group. */
export interface GroupEvent {
  readonly reason: "Created" | "Replaced" | "Scaled" | "Failed" | "Deleted";
  /** For people. */
  readonly message: string;
}

/** How a group is. */
export interface GroupState {
  readonly status: "starting" | "ready" | "idle" | "failed";
  readonly ready: number;
  readonly wanted: number;
  readonly message: string;
  /** Ids of the replicas that are given requests; undefined where another node has them. */
  readonly readyIds: ReadonlySet<string> | undefined;
}

/** How a request ended: with an answer, without one, or without a connection. */
export type LeaseEnd = "answered" | "failed" | "refused";

/** A replica that takes requests. */
export interface ReplicaLease {
  readonly address: ServerAddress;
  /** Its name. */
  readonly replica: string;
  release(end: LeaseEnd): void;
}

/** Requests that wait for a replica at once. */
const MOST_WAITING = 5_000;
/** Replicas that do not stay, one after the other, before requests are refused at once. */
const FAILED_AFTER = 3;
/** Most characters of the group's name in those of its replicas. */
const MAX_NAME = 45;
const GROUP_DELETED = "Its scaling group was deleted.";

interface Replica {
  readonly container: StoredContainer;
  readonly generation: string;
  readonly since: number;
  isReady: boolean;
  readySince: number;
  isEnding: boolean;
  inFlight: number;
  /** Since when its checks fail; undefined = they do not. */
  failingSince: number | undefined;
  checkedAt: number;
  isChecked: boolean;
  used: { readonly at: number; readonly cpuSeconds: number } | undefined;
  onIdle: (() => void) | undefined;
}

interface Waiter {
  resolve(lease: ReplicaLease): void;
  reject(error: unknown): void;
}

/** The replicas of a group. */
export class ReplicaSet {
  readonly #parts: ReplicaSetParts;
  #group: Group;
  #wanted: number;
  readonly #replicas = new Map<string, Replica>();
  readonly #waiting = new Set<Waiter>();
  #starting = 0;
  #failures = 0;
  #failedAt = 0;
  #message = "";
  #measures: Measure[] = [];
  #measuredAt = 0;
  #usedAt: number;
  #isOver = false;
  #isRemoved = false;
  #isWoken = false;
  #wake: (() => void) | undefined;
  #loop: Promise<void> | undefined;

  /** @param found replicas that the engine has */
  constructor(parts: ReplicaSetParts, group: Group, found: readonly StoredContainer[] = []) {
    this.#parts = parts;
    this.#group = group;
    this.#usedAt = parts.now();
    for (const container of found) this.#add(container);
    this.#wanted = clamped(Math.max(this.#current().length, group.content.bounds.minReplicas), group.content);
  }

  get group(): Group {
    return this.#group;
  }

  /** How it is. */
  state(): GroupState {
    const answering = [...this.#replicas.values()].filter(({ isEnding, isReady }) => isReady && !isEnding);
    const readyIds = new Set(answering.map(({ container }) => container.id));
    const ready = this.#current().filter(({ isReady }) => isReady).length;
    const wanted = this.#wanted;
    const status =
      this.#failures >= FAILED_AFTER && ready < wanted ? "failed" : ready < wanted ? "starting" : wanted === 0 ? "idle" : "ready";
    return { status, ready, wanted, message: status === "ready" && this.#failures === 0 ? "" : this.#message, readyIds };
  }

  /** Begins to keep the replicas. */
  start(): void {
    this.#loop ??= this.#run();
  }

  /**
   * Starts a replica of a group that is not the one of this set yet, or has none. Rejects with
   * Failure.
   */
  async try(group: Group): Promise<StoredContainer> {
    const { containers } = this.#parts;
    const { content, id, name } = group;
    const wish = await this.#parts.wishOf(group);
    const random = Bun.randomUUIDv7("hex").slice(-6);
    return containers.run(
      {
        ...wish,
        ...{ name: `${name.slice(0, MAX_NAME).replace(/-+$/, "")}-${content.generation}-${random}` },
        ...{ tags: content.tags, lifetimeMs: 0, group: id, hasNetwork: true },
      },
      content.author satisfies Caller,
    );
  }

  /**
   * Makes its replicas those of another generation: they come up before the old ones go.
   * @param first a replica of it that was started already
   */
  replace(group: Group, first?: StoredContainer): void {
    const isNew = group.content.generation !== this.#group.content.generation;
    const before = this.#current().filter(({ isEnding }) => !isEnding).length;
    this.#group = group;
    if (first) this.#add(first);
    if (isNew) {
      this.#forgetFailures();
      this.#measures = [];
    }
    this.#usedAt = this.#parts.now();
    if (isNew) this.#parts.note(group, { reason: "Replaced", message: "New replicas take the place of the old ones." });
    this.#want(clamped(Math.max(isNew ? before : this.#wanted, first ? 1 : 0), group.content), "by its bounds");
    this.look();
  }

  /** Looks at its replicas now. */
  look(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  /** A replica for a request. Rejects with Failure, or with the signal's reason. */
  lease(signal: AbortSignal): Promise<ReplicaLease> {
    this.#usedAt = this.#parts.now();
    const there = this.#leaseReady();
    if (there) return Promise.resolve(there);
    const { name } = this.#group;
    if (this.#isOver) return Promise.reject(new Failure("unavailable", `The scaling group '${name}' was deleted.`));
    if (this.#failures >= FAILED_AFTER) return Promise.reject(this.#doNotStay());
    if (this.#waiting.size >= MOST_WAITING)
      return Promise.reject(new Failure("resource_exhausted", `${MOST_WAITING} requests wait for the scaling group '${name}' already.`));
    if (this.#wanted === 0) {
      this.#want(1, "for a request");
      this.look();
    }
    return this.#held(signal);
  }

  /** Stops keeping the replicas; they go on. */
  async close(): Promise<void> {
    await this.#leave(new Failure("unavailable", "The server stops."));
  }

  /** Ends all replicas, and those that are just being started once they are. */
  async remove(): Promise<void> {
    this.#isRemoved = true;
    await this.#leave(new Failure("unavailable", `The scaling group '${this.#group.name}' was deleted.`));
    await Promise.all([...this.#replicas.values()].map((replica) => this.#stop(replica, GROUP_DELETED)));
  }

  async #leave(why: Failure): Promise<void> {
    this.#isOver = true;
    this.look();
    for (const waiter of [...this.#waiting]) waiter.reject(why);
    await this.#loop;
  }

  #doNotStay(): Failure {
    const { name } = this.#group;
    return new Failure("unavailable", `The replicas of the scaling group '${name}' do not stay. ${this.#message}`, {
      hint: `\`svc scaling-group get --name ${name}\` shows its replicas, and \`svc logs\` what they printed.`,
    });
  }

  #held(signal: AbortSignal): Promise<ReplicaLease> {
    return new Promise((resolve, reject) => {
      const { holdMs } = this.#parts.pace;
      const settle = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
        this.#waiting.delete(waiter);
      };
      const waiter: Waiter = {
        resolve: (lease) => {
          settle();
          resolve(lease);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      };
      const onAbort = (): void => waiter.reject(signal.reason);
      const timer = setTimeout(() => {
        const why = this.#message === "" ? "" : `: ${this.#message}`;
        waiter.reject(
          new Failure(
            "deadline_exceeded",
            `No replica of the scaling group '${this.#group.name}' answered in ${holdMs / 1_000} seconds${why}`,
          ),
        );
      }, holdMs);
      if (signal.aborted) return onAbort();
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.add(waiter);
    });
  }

  /** The replica with the fewest requests, of those that answer. */
  #leaseReady(): ReplicaLease | undefined {
    if (this.#isOver) return undefined;
    let least: Replica | undefined;
    for (const replica of this.#replicas.values())
      if (replica.isReady && !replica.isEnding && (!least || replica.inFlight < least.inFlight) && this.#addressOf(replica))
        least = replica;
    if (!least) return undefined;
    const replica = least;
    const address = this.#addressOf(replica) as ServerAddress;
    replica.inFlight++;
    let isReleased = false;
    return {
      address,
      replica: replica.container.name,
      release: (end) => {
        if (isReleased) return;
        isReleased = true;
        this.#usedAt = this.#parts.now();
        replica.inFlight--;
        if (end === "answered") replica.failingSince = undefined;
        if (end === "refused") {
          replica.isReady = false;
          this.look();
        }
        if (replica.inFlight === 0) replica.onIdle?.();
      },
    };
  }

  #addressOf({ container }: Replica): ServerAddress | undefined {
    return this.#parts.containers.address(container.id);
  }

  #add(container: StoredContainer): void {
    if (this.#replicas.has(container.id)) return;
    this.#replicas.set(container.id, {
      container,
      generation: generationIn(container.name),
      since: this.#parts.now(),
      ...{ isReady: false, readySince: 0, isEnding: false, inFlight: 0, failingSince: undefined, checkedAt: Number.NEGATIVE_INFINITY },
      ...{ isChecked: false, used: undefined, onIdle: undefined },
    });
  }

  /** Replicas of the generation that there should be. */
  #current(): Replica[] {
    return [...this.#replicas.values()].filter(({ generation }) => generation === this.#group.content.generation);
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      this.#isWoken = false;
      try {
        await this.#settle();
      } catch (error) {
        this.#parts.log.error("a scaling group could not be looked at", { group: this.#group.id, error: errorText(error) });
      }
      if (this.#isOver) return;
      const { lookMs, startingMs } = this.#parts.pace;
      const isComing = [...this.#replicas.values()].some(({ isReady, isEnding }) => !isReady && !isEnding) || this.#starting > 0;
      if (!this.#isWoken)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, isComing ? startingMs : lookMs);
          this.#wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      this.#wake = undefined;
    }
  }

  /** One step towards what there should be. */
  async #settle(): Promise<void> {
    const { now, pace } = this.#parts;
    for (const replica of [...this.#replicas.values()]) await this.#followEnd(replica);
    for (const replica of this.#replicas.values()) this.#checkWhenDue(replica);
    if (now() - this.#measuredAt >= pace.measureMs) {
      this.#measuredAt = now();
      await this.#measure();
    }
    this.#decide();
    const current = this.#current().filter(({ isEnding }) => !isEnding);
    const isPatient = this.#failures > 0 && now() < this.#failedAt + backoffMs(this.#failures);
    for (let missing = this.#wanted - current.length - this.#starting; missing > 0 && !isPatient; missing--) this.#startOne();
    const ready = current.filter(({ isReady }) => isReady);
    const old = [...this.#replicas.values()].filter((one) => !one.isEnding && !current.includes(one));
    this.#endMost(old, old.length - Math.max(0, this.#wanted - ready.length));
    this.#endMost(current, current.length - this.#wanted);
  }

  /** Ends so many of some replicas: those first that answer least. */
  #endMost(replicas: readonly Replica[], count: number): void {
    const order = replicas.toSorted((a, b) => Number(a.isReady) - Number(b.isReady) || a.inFlight - b.inFlight);
    for (const replica of order.slice(0, Math.max(0, count))) this.#end(replica, "Its scaling group needs it no more.");
  }

  #decide(): void {
    const { now, pace } = this.#parts;
    const { bounds } = this.#group.content;
    if (this.#wanted === 0 && this.#waiting.size === 0) {
      this.#want(bounds.minReplicas, "by its bounds");
      return;
    }
    const isUsed = this.#waiting.size > 0 || [...this.#replicas.values()].some(({ inFlight }) => inFlight > 0);
    if (isUsed) this.#usedAt = now();
    const isIdle = bounds.minReplicas === 0 && now() - this.#usedAt >= pace.idleMs;
    if (isIdle) this.#failures = 0;
    if (isIdle) this.#want(0, "because nobody asked");
    else this.#want(wantedByLoad(this.#measures, bounds, Math.max(this.#wanted, 1), now()), "by the load");
  }

  /** Changes how many replicas there should be. @param why completes a sentence */
  #want(wanted: number, why: string): void {
    const before = this.#wanted;
    if (before === wanted) return;
    this.#wanted = wanted;
    this.#parts.note(this.#group, { reason: "Scaled", message: `It should have ${replicasText(wanted)} instead of ${before}, ${why}.` });
  }

  /** Notes the end of a replica that does not run any more. */
  async #followEnd(replica: Replica): Promise<void> {
    const { container } = replica;
    const stored = await this.#parts.containers.find(container.environmentId, container.id);
    if (stored && !hasEnded(stored)) return;
    this.#replicas.delete(container.id);
    if (replica.isEnding || replica.generation !== this.#group.content.generation) return;
    const code = stored?.exitCode === undefined ? "" : ` with exit code ${stored.exitCode}`;
    this.#failed(`A replica ended${code}${stored?.message ? `: ${stored.message}` : "."}`);
  }

  #forgetFailures(): void {
    this.#failures = 0;
    this.#message = "";
  }

  #failed(message: string): void {
    this.#failures++;
    this.#failedAt = this.#parts.now();
    this.#message = message;
    this.#parts.note(this.#group, this.#failures === FAILED_AFTER ? { reason: "Failed", message } : undefined);
    if (this.#failures >= FAILED_AFTER && !this.#current().some(({ isReady }) => isReady))
      for (const waiter of [...this.#waiting]) waiter.reject(this.#doNotStay());
  }

  #startOne(): void {
    this.#starting++;
    const group = this.#group;
    this.#do(async () => {
      try {
        const container = await this.try(group);
        this.#add(container);
        const replica = this.#replicas.get(container.id);
        if (this.#isRemoved && replica) await this.#stop(replica, GROUP_DELETED);
      } catch (error) {
        if (!this.#isOver) this.#failed(errorText(error));
      } finally {
        this.#starting--;
        this.look();
      }
    });
  }

  /** Asks a replica whether it answers, when it is time. */
  #checkWhenDue(replica: Replica): void {
    const { check, now, pace } = this.#parts;
    const { container, isReady } = replica;
    if (replica.isEnding || replica.isChecked || now() - replica.checkedAt < (isReady ? pace.checkMs : pace.startingMs)) return;
    const address = this.#addressOf(replica);
    if (container.spec.port === 0) this.#answers(replica);
    if (!address) return;
    replica.isChecked = true;
    this.#do(async () => {
      const fault = await check(address, container.spec.grpc);
      replica.isChecked = false;
      replica.checkedAt = now();
      if (fault === undefined) this.#answers(replica);
      else this.#answersNot(replica, fault);
    });
  }

  #answers(replica: Replica): void {
    const { now, pace } = this.#parts;
    replica.failingSince = undefined;
    if (replica.isReady) {
      if (now() - replica.readySince >= pace.steadyMs) this.#forgetFailures();
      return;
    }
    replica.isReady = true;
    replica.readySince = now();
    this.#parts.note(this.#group);
    for (const waiter of [...this.#waiting]) {
      const lease = this.#leaseReady();
      if (!lease) break;
      waiter.resolve(lease);
    }
    this.look();
  }

  #answersNot(replica: Replica, { isLate, message }: HealthFault): void {
    const { now, pace } = this.#parts;
    const told = `A replica does not answer on port ${replica.container.spec.port}: ${message.replace(/\.$/, "")}.`;
    replica.failingSince ??= now();
    // One that has requests may be busy with them; another in its place would lose them.
    const failMs = isLate && replica.inFlight > 0 ? pace.answerMs : pace.failMs;
    const isPatient = replica.readySince > 0 ? now() - replica.failingSince < failMs : now() - replica.since < pace.answerMs;
    if (isPatient || replica.isEnding) {
      if (this.#failures === 0) this.#message = told;
      return;
    }
    replica.isReady = false;
    this.#failed(told);
    this.#end(replica, told);
    this.look();
  }

  /** Ends a replica once its requests are over. */
  #end(replica: Replica, why: string): void {
    replica.isEnding = true;
    this.#do(async () => {
      if (replica.inFlight > 0) {
        const idle = Promise.withResolvers<void>();
        replica.onIdle = idle.resolve;
        const timer = setTimeout(idle.resolve, this.#parts.pace.drainMs);
        await idle.promise;
        clearTimeout(timer);
      }
      await this.#stop(replica, why);
    });
  }

  async #stop({ container }: Replica, why: string): Promise<void> {
    try {
      await this.#parts.containers.stop(container.environmentId, container.id, why);
    } catch (error) {
      // It may have ended by itself.
      if (!(error instanceof Failure) || (error.kind !== "failed_precondition" && error.kind !== "not_found"))
        this.#parts.log.warning("a replica could not be ended", { container: container.id, error: errorText(error) });
    }
    this.#replicas.delete(container.id);
  }

  /** Measures what the replicas use that answer. */
  async #measure(): Promise<void> {
    const { containers, now, processors } = this.#parts;
    if (this.#group.content.bounds.maxReplicas === 1) return;
    const limit = quantityValue(specOf(this.#group.content).resources?.cpu ?? "") ?? processors;
    const used = await Promise.all(
      this.#current()
        .filter(({ isEnding, isReady }) => isReady && !isEnding)
        .map(async (replica) => {
          const use = await containers.use(replica.container.id).catch(() => undefined);
          const before = replica.used;
          replica.used = use && { at: now(), cpuSeconds: use.cpuSeconds };
          if (!before || !replica.used || replica.used.at <= before.at) return undefined;
          return (100_000 * (replica.used.cpuSeconds - before.cpuSeconds)) / (replica.used.at - before.at) / limit;
        }),
    );
    const known = used.filter((one) => one !== undefined);
    if (known.length === 0) return;
    const cpu = known.reduce((sum, one) => sum + one, 0) / known.length;
    this.#measures = stillCounting([...this.#measures, { at: now(), replicas: known.length, cpu }], now());
  }

  /** Does something beside the loop. */
  #do(work: () => Promise<void>): void {
    work().catch((error: unknown) => {
      this.#parts.log.error("a scaling group failed", { group: this.#group.id, error: errorText(error) });
    });
  }
}

/** A number of replicas within the bounds of a group. */
function clamped(count: number, { bounds }: GroupContent): number {
  return Math.min(Math.max(count, bounds.minReplicas), bounds.maxReplicas);
}

function replicasText(count: number): string {
  return count === 1 ? "1 replica" : `${count} replicas`;
}

/** The generation in the name of a replica. */
function generationIn(name: string): string {
  return /-([a-z0-9]{4})-[a-z0-9]{6}$/.exec(name)?.[1] ?? "";
}
