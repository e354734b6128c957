import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { type Columns, flag, integer, json, oneOf, optional, rowCodec, text } from "../sqlite/row-codec.ts";
import {
  type AttemptOutcome,
  type ClaimedJob,
  environmentOf,
  type JobAttempt,
  type JobEntry,
  type JobLease,
  type JobPlace,
  type JobRecord,
  type JobState,
  type JobStore,
  type NewJob,
  type QueuePosition,
  type ResourceGroup,
} from "./jobs.ts";

/** A job's row: a record whose group is two columns. */
interface JobRow extends Omit<JobRecord, "group"> {
  readonly resourceGroup: string;
  readonly slots: number;
}

/** A row that is shown. */
type Numbered = Pick<JobEntry, "number">;

/** The answer of a search for what follows. */
interface Next {
  readonly next: string | null;
}

/** What decides whether a queued job can be claimed. */
interface WaitingRow {
  readonly resource_group: string;
  readonly slots: number;
}

/** The columns of a job that is shown. */
const SHOWN: Columns<Omit<JobRow, "payload" | "idempotencyKey">> = {
  id: text,
  kind: text,
  state: oneOf<JobState>(),
  priority: integer,
  resourceGroup: text,
  slots: integer,
  scope: text,
  subject: text,
  runAt: integer,
  deadlineAt: optional(integer),
  maxAttempts: integer,
  attemptTimeoutMs: integer,
  attempts: integer,
  node: text,
  fence: integer,
  leaseUntil: integer,
  isCancelRequested: flag,
  progress: text,
  error: text,
  createdAt: integer,
  updatedAt: integer,
};
const JOBS = rowCodec<JobRow>("job", { ...SHOWN, payload: json<unknown>(), idempotencyKey: optional(text) });
const ENTRIES = rowCodec("job", SHOWN);

const ATTEMPTS = rowCodec<JobAttempt>("job_attempt", {
  jobId: text,
  number: integer,
  node: text,
  startedAt: integer,
  endedAt: optional(integer),
  outcome: oneOf<AttemptOutcome>(),
  error: text,
});

const LOST = "the server that ran it stopped or was not heard of";
const AT_ONCE = 0;
const ENDED: readonly JobState[] = ["succeeded", "failed", "cancelled"];
const STATES: readonly JobState[] = ["queued", "running", ...ENDED];
const UNLEASED = { node: "", leaseUntil: 0, isCancelRequested: false };

const END_OF_TIME = Number.MAX_SAFE_INTEGER;
const ANY_TIME = [0, END_OF_TIME] as const;

/** The columns of an entry; a payload is not even read. */
const ENTRY = `seq as number, ${ENTRIES.columns}`;
/** The first kind after another one, and the first scope of a kind after another one. */
export const NEXT_KIND = "select min(kind) as next from job indexed by job_by_scope where kind > ?";
export const NEXT_SCOPE = "select min(scope) as next from job indexed by job_by_scope where kind = ? and scope > ?";
/** The newest jobs of a place and state, between two numbers and two times when they are due. */
export const NEWEST_OF_PLACE = `select seq from job indexed by job_by_scope
  where kind = ? and scope = ? and state = ? and seq < ? and seq > ? and run_at between ? and ? order by seq desc limit ?`;
/** The next jobs of a group that are due. */
export const NEXT_OF_GROUP = `select seq as number, scope from job
  where state = 'queued' and resource_group = ? and resource_group <> '' and run_at <= ? order by priority desc, seq limit ?`;

/** Jobs of a scope and of those below it. */
const IN_SCOPE = "(scope = ? or scope between ? and ?)";
const inScope = (scope: string) => [scope, `${scope}/`, `${scope}/\u{10ffff}`] as const;

/** A record whose group is one field. */
function withGroup<R extends Pick<JobRow, "resourceGroup" | "slots">>({ resourceGroup, slots, ...job }: R) {
  return { ...job, group: resourceGroup === "" ? undefined : { name: resourceGroup, slots } };
}

/** The queue of the SQLite backend, and how other writes of the same step put a job into it. */
export function jobQueries(
  db: Database,
  writer: Writer,
  now: () => number,
): { readonly jobs: JobStore; readonly insertJob: (job: NewJob) => JobRecord } {
  const recordOf = (row: object): JobRecord => withGroup(JOBS.record(row));
  const entryOf = (row: Numbered): JobEntry => ({ ...withGroup(ENTRIES.record(row)), number: row.number });
  const find = (id: string): JobRecord | undefined => {
    const row = db.query<object, [string]>("select * from job where id = ?").get(id);
    return row ? recordOf(row) : undefined;
  };
  const update = (id: string, patch: Partial<JobRow>): void => {
    const { sql, parameters } = JOBS.assignments({ ...patch, updatedAt: now() });
    db.query(`update job set ${sql} where id = $job`).run({ ...parameters, job: id });
  };
  const endAttempt = (job: JobRecord, outcome: AttemptOutcome, error = ""): void => {
    db.query("update job_attempt set outcome = ?, error = ?, ended_at = ? where job_id = ? and number = ? and ended_at is null").run(
      outcome,
      error,
      now(),
      job.id,
      job.attempts,
    );
  };
  /** The job of a lease that still holds. */
  const held = ({ id, fence }: JobLease): JobRecord | undefined => {
    const job = find(id);
    return job?.state === "running" && job.fence === fence ? job : undefined;
  };
  const settle = (lease: JobLease, end: (job: JobRecord) => void): Promise<boolean> =>
    writer.write(() => {
      const job = held(lease);
      if (job) end(job);
      return job !== undefined;
    });
  const takeBack = (job: JobRecord): void => {
    endAttempt(job, "lost", LOST);
    if (job.isCancelRequested) update(job.id, { ...UNLEASED, state: "cancelled" });
    else update(job.id, { ...UNLEASED, state: "queued", error: LOST, runAt: AT_ONCE });
  };
  const exhaustionOf = (job: JobRecord): string | undefined => {
    if (job.deadlineAt !== undefined && job.deadlineAt <= now()) return "its time was up before it was done";
    if (job.attempts < job.maxAttempts) return undefined;
    return `${job.attempts === 1 ? "its attempt" : `each of its ${job.attempts} attempts`} failed: ${job.error}`;
  };

  /** Whether jobs would get a slot of their group; each that would takes it. */
  const slotTaker = (): ((job: WaitingRow) => boolean) => {
    const running = new Map(
      db
        .query<{ resource_group: string; jobs: number }, []>(
          "select resource_group, count(*) as jobs from job where state = 'running' and resource_group <> '' group by resource_group",
        )
        .all()
        .map(({ resource_group, jobs }) => [resource_group, jobs]),
    );
    return ({ resource_group, slots }) => {
      const taken = running.get(resource_group) ?? 0;
      if (resource_group !== "" && taken >= slots) return false;
      running.set(resource_group, taken + 1);
      return true;
    };
  };
  /**
   * The next jobs to be claimed, in order. Many may wait, so it reads them once, and no payloads.
   */
  const nextDue = (ofKinds: string, limit: number): number[] => {
    const takesSlot = slotTaker();
    const due: number[] = [];
    const waiting = db.query<WaitingRow & { seq: number }, [string, number]>(
      `select seq, resource_group, slots from job indexed by job_by_due
       where state = 'queued' and kind in (select value from json_each(?)) and run_at <= ? order by priority desc, seq`,
    );
    for (const job of waiting.iterate(ofKinds, now())) {
      if (takesSlot(job)) due.push(job.seq);
      if (due.length >= limit) break;
    }
    return due;
  };
  /** When the first of a kind's queued jobs is due that would get a slot. */
  const nextQueuedAt = (kind: string): number | undefined => {
    const takesSlot = slotTaker();
    const waiting = db.query<WaitingRow & { run_at: number }, [string]>(
      "select run_at, resource_group, slots from job indexed by job_by_due where state = 'queued' and kind = ? order by run_at",
    );
    for (const job of waiting.iterate(kind)) if (takesSlot(job)) return job.run_at;
    return undefined;
  };

  const insertJob = (wanted: NewJob): JobRecord => {
    const same = db
      .query<object, [string, string | null]>("select * from job where kind = ? and idempotency_key = ?")
      .get(wanted.kind, wanted.idempotencyKey ?? null);
    if (same) return recordOf(same);
    const at = now();
    const deadlineAt = wanted.timeoutMs === undefined ? undefined : at + wanted.timeoutMs;
    const group: ResourceGroup = wanted.group ?? { name: "", slots: 0 };
    const row: JobRow = {
      ...UNLEASED,
      id: wanted.id,
      kind: wanted.kind,
      payload: wanted.payload,
      state: "queued",
      priority: wanted.priority ?? 0,
      resourceGroup: group.name,
      slots: group.slots,
      scope: wanted.scope ?? "",
      subject: wanted.subject ?? "",
      idempotencyKey: wanted.idempotencyKey,
      runAt: wanted.delayMs === undefined ? AT_ONCE : Math.min(at + wanted.delayMs, deadlineAt ?? Number.POSITIVE_INFINITY),
      deadlineAt,
      maxAttempts: wanted.maxAttempts,
      attemptTimeoutMs: wanted.attemptTimeoutMs,
      attempts: 0,
      fence: 0,
      progress: "",
      error: "",
      createdAt: at,
      updatedAt: at,
    };
    db.query(JOBS.insert).run(JOBS.parameters(row));
    return find(wanted.id) as JobRecord;
  };

  const seqOf = (id: string): number | undefined => db.query<{ seq: number }, [string]>("select seq from job where id = ?").get(id)?.seq;
  const waitingAt = ({ kind, scope }: JobPlace): number =>
    db
      .query<{ jobs: number }, [string, string]>(
        "select count(*) as jobs from job where kind = ? and scope = ? and state in ('queued', 'running')",
      )
      .get(kind, scope)?.jobs ?? 0;

  /** The places that have jobs, and those of no scope; a search of an index finds each. */
  function* places(isKind: (kind: string) => boolean): Generator<JobPlace> {
    const nextKind = db.query<Next, [string]>(NEXT_KIND);
    const nextScope = db.query<Next, [string, string]>(NEXT_SCOPE);
    for (let kind = nextKind.get("")?.next; kind; kind = nextKind.get(kind)?.next) {
      if (!isKind(kind)) continue;
      yield { kind, scope: "" };
      for (let scope = nextScope.get(kind, "")?.next; scope; scope = nextScope.get(kind, scope)?.next) yield { kind, scope };
    }
  }

  const jobs: JobStore = {
    enqueue: (job) => writer.write(() => insertJob(job)),

    enqueueWithin: (place, limit, wanted) =>
      writer.write(() => {
        const stored = wanted.slice(0, Math.max(0, limit - waitingAt(place)));
        stored.forEach(insertJob);
        return stored.length;
      }),

    claim: ({ node, kinds, limit, leaseMs }) =>
      writer.write(() => {
        const ofKinds = JSON.stringify(kinds);
        db.query<object, [number, string, string]>(
          "select * from job where state = 'running' and lease_until <= ? and kind in (select value from json_each(?)) and node <> ?",
        )
          .all(now(), ofKinds, node)
          .map(recordOf)
          .forEach(takeBack);
        const claimed: ClaimedJob[] = [];
        for (const seq of nextDue(ofKinds, limit)) {
          const waiting = recordOf(db.query<object, [number]>("select * from job where seq = ?").get(seq) as object);
          const exhausted = exhaustionOf(waiting);
          const fence = waiting.fence + 1;
          const attempts = waiting.attempts + (exhausted === undefined ? 1 : 0);
          update(waiting.id, { state: "running", node, fence, attempts, leaseUntil: now() + leaseMs });
          if (exhausted === undefined) {
            const attempt: JobAttempt = {
              jobId: waiting.id,
              number: attempts,
              node,
              startedAt: now(),
              endedAt: undefined,
              outcome: "running",
              error: "",
            };
            db.query(ATTEMPTS.insert).run(ATTEMPTS.parameters(attempt));
          }
          claimed.push({
            job: find(waiting.id) as JobRecord,
            lease: { id: waiting.id, fence },
            ...(exhausted === undefined ? {} : { exhausted }),
          });
        }
        return claimed;
      }),

    heartbeat: (lease, leaseMs, progress) =>
      writer.write(() => {
        const job = held(lease);
        if (!job) return "lost";
        update(job.id, { leaseUntil: now() + leaseMs, ...(progress === undefined ? {} : { progress }) });
        return job.isCancelRequested ? "cancel" : "kept";
      }),

    succeed: (lease) =>
      settle(lease, (job) => {
        endAttempt(job, "succeeded");
        update(job.id, { ...UNLEASED, state: "succeeded", error: "" });
      }),

    fail: (lease, error, retryMs) =>
      settle(lease, (job) => {
        endAttempt(job, "failed", error);
        const isOver = retryMs === undefined || job.attempts >= job.maxAttempts;
        if (job.isCancelRequested || isOver) {
          update(job.id, { ...UNLEASED, state: job.isCancelRequested ? "cancelled" : "failed", error });
          return;
        }
        const runAt = Math.min(now() + retryMs, job.deadlineAt ?? Number.POSITIVE_INFINITY);
        update(job.id, { ...UNLEASED, state: "queued", error, runAt });
      }),

    release: (lease) =>
      settle(lease, (job) => {
        const { changes } = db
          .query("delete from job_attempt where job_id = ? and number = ? and ended_at is null")
          .run(job.id, job.attempts);
        update(job.id, { ...UNLEASED, state: "queued", runAt: AT_ONCE, attempts: job.attempts - changes });
      }),

    confirmCancel: (lease) =>
      settle(lease, (job) => {
        endAttempt(job, "cancelled");
        update(job.id, { ...UNLEASED, state: "cancelled" });
      }),

    abandon: (node) =>
      writer.write(() => {
        db.query<object, [string]>("select * from job where state = 'running' and node = ?").all(node).map(recordOf).forEach(takeBack);
      }),

    cancel: (id) =>
      writer.write(() => {
        const job = find(id);
        if (job?.state === "queued") update(id, { state: "cancelled" });
        if (job?.state === "running") update(id, { isCancelRequested: true });
        return find(id);
      }),

    async job(id) {
      return find(id);
    },

    async entry(idOrNumber) {
      const key = typeof idOrNumber === "number" ? "seq" : "id";
      const row = db.query<Numbered, [string | number]>(`select ${ENTRY} from job where ${key} = ?`).get(idOrNumber);
      return row ? entryOf(row) : undefined;
    },

    async page({ kinds, environmentIds, states = STATES, queued, before = Number.MAX_SAFE_INTEGER, offset = 0, limit }) {
      const environments = environmentIds && new Set(environmentIds);
      const most = offset + limit;
      const due = !queued ? ANY_TIME : queued.areDue ? ([0, queued.at] as const) : ([queued.at + 1, END_OF_TIME] as const);
      const newestOf = db.query<{ seq: number }, (string | number)[]>(NEWEST_OF_PLACE);
      let newest: number[] = [];
      for (const { kind, scope } of places((kind) => kinds?.includes(kind) !== false)) {
        if (environments?.has(environmentOf(scope)) === false) continue;
        for (const state of states) {
          const above = newest.length < most ? 0 : (newest.at(-1) ?? 0);
          const [from, until] = state === "queued" ? due : ANY_TIME;
          const found = newestOf.all(kind, scope, state, before, above, from, until, most);
          if (found.length > 0) newest = [...newest, ...found.map(({ seq }) => seq)].sort((a, b) => b - a).slice(0, most);
        }
      }
      return db
        .query<Numbered, [string]>(`select ${ENTRY} from job where seq in (select value from json_each(?)) order by seq desc`)
        .all(JSON.stringify(newest.slice(offset)))
        .map(entryOf);
    },

    async standing({ name, slots }, at) {
      const running = db
        .query<QueuePosition, [string, number]>(
          "select seq as number, scope from job where state = 'running' and resource_group = ? order by seq limit ?",
        )
        .all(name, slots);
      const next = db.query<QueuePosition, [string, number, number]>(NEXT_OF_GROUP).all(name, at, slots - running.length);
      return { running, next };
    },

    async list({ kind, scope, states = STATES, before, limit }) {
      const beforeSeq = before === undefined ? Number.MAX_SAFE_INTEGER : (seqOf(before) ?? 0);
      return db
        .query<object, (string | number)[]>(
          `select * from job where seq in (
             select seq from job where kind = ? and ${IN_SCOPE} and state in (select value from json_each(?)) and seq < ?
             order by seq desc limit ?)
           order by seq desc`,
        )
        .all(kind, ...inScope(scope), JSON.stringify(states), beforeSeq, limit)
        .map(recordOf);
    },

    retry: (id, moreAttempts, limit) =>
      writer.write(() => {
        const job = find(id);
        if (!job || !ENDED.includes(job.state)) return undefined;
        if (waitingAt(job) >= limit) return "full";
        update(id, { ...UNLEASED, state: "queued", runAt: AT_ONCE, deadlineAt: undefined, maxAttempts: job.attempts + moreAttempts });
        return find(id);
      }),

    async attempts(id) {
      return db
        .query<object, [string]>("select * from job_attempt where job_id = ? order by number")
        .all(id)
        .map((row) => ATTEMPTS.record(row));
    },

    async nextDueIn(node, kinds) {
      const lease = db
        .query<{ at: number | null }, [string, string]>(
          `select min(lease_until) as at from job
           where state = 'running' and node <> ? and kind in (select value from json_each(?))`,
        )
        .get(node, JSON.stringify(kinds));
      const due = [lease?.at ?? undefined, ...kinds.map(nextQueuedAt)].filter((at) => at !== undefined);
      return due.length === 0 ? undefined : Math.max(0, Math.min(...due) - now());
    },

    purge: (olderThanMs, limit) =>
      writer.write(
        () =>
          db
            .query(
              `delete from job where seq in (
                 select seq from job where state in ('succeeded', 'failed', 'cancelled') and updated_at < ? order by seq limit ?)`,
            )
            .run(now() - olderThanMs, limit).changes,
      ),

    trim: ({ kind, scope, state }, keep, limit) =>
      writer.write(() => {
        if (!ENDED.includes(state)) return 0;
        return db
          .query(
            `delete from job where seq in (
               select seq from job where kind = $kind and scope = $scope and state = $state and seq < (
                 select seq from job where kind = $kind and scope = $scope and state = $state order by seq desc limit 1 offset $keep - 1)
               order by seq limit $limit)`,
          )
          .run({ kind, scope, state, keep, limit }).changes;
      }),

    forget: ({ kind, scope }, limit) =>
      writer.write(
        () =>
          db
            .query(`delete from job where seq in (select seq from job where kind = ? and ${IN_SCOPE} limit ?)`)
            .run(kind, ...inScope(scope), limit).changes,
      ),
  };
  return { jobs, insertJob };
}
