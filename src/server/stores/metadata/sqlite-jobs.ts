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
  type JobSelection,
  type JobState,
  type JobStore,
  type NewJob,
  type QueuePosition,
  type ResourceGroup,
} from "./jobs.ts";
import type { WorkflowFollower } from "./sqlite-workflows.ts";

/** What keeps a queued job from its turn: others that it waits for, its time, or nothing. */
type Hold = "jobs" | "time" | "";

/** A job's row: a record whose group is two columns, and what decides when it is claimed. */
interface JobRow extends Omit<JobRecord, "group" | "index" | "gate" | "isHeld"> {
  readonly resourceGroup: string;
  readonly slots: number;
  readonly indexInOperation: number | undefined;
  /** 0 = none. */
  readonly gate: number;
  /** The operation, if its jobs pass a gate; else empty. */
  readonly gatedBy: string;
  readonly heldBy: Hold;
  /** Reason why it is to be given up, because a job that it waited for failed; empty = none. */
  readonly doom: string;
}

/** A row that is shown. */
type Numbered = Pick<JobEntry, "number">;

/** The answer of a search for what follows. */
interface Next {
  readonly next: string | null;
}

/**
 * What decides whether queued jobs can be claimed: those of one lane are claimed in their order.
 */
interface Lane {
  readonly resource_group: string;
  readonly slots: number;
  readonly gated_by: string;
  readonly gate: number;
}

/** A job that is due, the first of its lane but for those that are claimed before it. */
interface DueJob extends Lane {
  readonly kind: string;
  readonly priority: number;
  readonly seq: number;
}

/** The columns of a job that is shown. */
const SHOWN: Columns<Omit<JobRow, "payload" | "idempotencyKey" | "gatedBy" | "doom">> = {
  id: text,
  kind: text,
  state: oneOf<JobState>(),
  priority: integer,
  resourceGroup: text,
  slots: integer,
  scope: text,
  subject: text,
  name: text,
  operationId: text,
  indexInOperation: optional(integer),
  workflowId: text,
  gate: integer,
  heldBy: oneOf<Hold>(),
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
const JOBS = rowCodec<JobRow>("job", {
  ...SHOWN,
  payload: json<unknown>(),
  idempotencyKey: optional(text),
  gatedBy: text,
  doom: text,
});
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
const DUE = { runAt: AT_ONCE, heldBy: "" } as const;
const UNLEASED = { node: "", leaseUntil: 0, isCancelRequested: false };

/** Most jobs that a claim wakes of a kind; the next one goes on. */
const WOKEN = 10_000;
/** Most characters of the reason for which a job failed that another one waited for. */
const MAX_REASON = 2_000;

/** The columns of an entry; a payload is not even read. */
const ENTRY = `seq as number, ${ENTRIES.columns}`;
/** The first kind after another one, and the first scope of a kind after another one. */
export const NEXT_KIND = "select min(kind) as next from job indexed by job_by_scope where kind > ?";
export const NEXT_SCOPE = "select min(scope) as next from job indexed by job_by_scope where kind = ? and scope > ?";
/** The newest jobs of a place and state, between two numbers and two times when they are due. */
export const NEWEST_OF_PLACE = `select seq from job indexed by job_by_scope
  where kind = ?1 and scope = ?2 and state = ?3 and seq < ?4 and seq > ?5
    and (?6 = 'any' or (held_by <> 'jobs' and run_at <= ?7) = (?6 = 'due')) order by seq desc limit ?8`;
/** The jobs of a kind that wait for a slot and nothing else, by their scopes. */
export const WAITING = `select scope, count(*) as jobs from (
  select scope from job indexed by job_ready where state = 'queued' and held_by = '' and kind = ? limit ?) group by scope`;
/** The next jobs of a group that are due. */
export const NEXT_OF_GROUP = `select seq as number, scope from job
  where state = 'queued' and held_by <> 'jobs' and resource_group = ? and resource_group <> '' and run_at <= ?
  order by priority desc, seq limit ?`;
/**
 * The first job of a kind's first lane after another one. A search for each column: one for all of
 * them, `(a, b) > (?, ?)`, would read the jobs of the lane that it is to pass.
 */
export const NEXT_LANE = ["gate > ?5", "gated_by > ?4", "slots > ?3", "resource_group > ?2"]
  .map((after, at) => ["kind = ?1", ...["resource_group = ?2", "slots = ?3", "gated_by = ?4"].slice(0, 3 - at), after].join(" and "))
  .map(
    (where) => `select * from (select kind, resource_group, slots, gated_by, gate, priority, seq from job indexed by job_ready
      where state = 'queued' and held_by = '' and ${where} order by resource_group, slots, gated_by, gate, priority desc, seq limit 1)`,
  )
  .join(" union all ")
  .concat(" limit 1");
/** The job of a lane after another one. */
export const NEXT_OF_LANE = `select kind, resource_group, slots, gated_by, gate, priority, seq from job indexed by job_ready
  where state = 'queued' and held_by = '' and kind = $kind and resource_group = $resource_group and slots = $slots
    and gated_by = $gated_by and gate = $gate and priority <= $priority and (priority < $priority or seq > $seq)
  order by priority desc, seq limit 1`;
/** Makes the jobs of a kind claimable whose time has come. */
export const WAKE = `update job set held_by = '' where seq in (
  select seq from job indexed by job_asleep where state = 'queued' and held_by = 'time' and kind = ? and run_at <= ? order by run_at limit ?)`;
/** When the first job of a kind is due whose time has not come. */
export const NEXT_TO_WAKE = `select min(run_at) as at from job indexed by job_asleep
  where state = 'queued' and held_by = 'time' and kind = ?`;
/** Numbers of the running jobs by operation, and by group. */
export const RUNNING_BY_OPERATION = `select operation_id as name, count(*) as jobs from job indexed by job_running_of_operation
  where state = 'running' and operation_id <> '' group by operation_id`;
export const RUNNING_BY_GROUP = `select resource_group as name, count(*) as jobs from job indexed by job_by_group
  where state = 'running' and resource_group <> '' group by resource_group`;
/** Jobs that a job waits for. */
export const AWAITED = `select job.seq as number, job.scope from job_after join job on job.id = job_after.after_id
  where job_after.job_id = ? limit ?`;

/**
 * What becomes of those that wait for a job that failed, was cancelled and succeeded. They are
 * found by what they wait for: `+` keeps the index of states, which has the whole queue, out of it.
 */
export const DOOM_THOSE_AFTER = `update job set held_by = '', doom = $doom, updated_at = $now
  where +state = 'queued' and held_by = 'jobs' and id in (select job_id from job_after where after_id = $id)`;
export const CANCEL_THOSE_AFTER = `with recursive later (id) as (
    select job_id from job_after where after_id = $id union select job_id from job_after join later on after_id = later.id)
  update job set state = 'cancelled', updated_at = $now where +state = 'queued' and held_by = 'jobs' and id in (select id from later)
  returning workflow_id`;
export const FREE_THOSE_AFTER = `update job set held_by = iif(run_at > $now, 'time', ''), updated_at = $now
  where +state = 'queued' and held_by = 'jobs' and id in (select job_id from job_after where after_id = $id)
    and not exists (select 1 from job_after where job_id = job.id and after_id <> $id)`;
/** Jobs that ended before a time, those that ended first before others. */
export const LONG_ENDED = `select seq from job indexed by job_by_end where state in ('succeeded', 'failed', 'cancelled') and updated_at < ?
  order by updated_at limit ?`;
/** Jobs of a kind in a scope and in those below it. */
export const IN_SCOPE = `select seq from job indexed by job_by_scope where kind = ?1 and scope = ?2
  union all select seq from job indexed by job_by_scope where kind = ?1 and scope between ?2 || '/' and ?2 || '/\u{10ffff}' limit ?3`;
/** The first of them after a number, oldest first. */
export const IN_SCOPE_AFTER = `select seq from job indexed by job_by_scope where kind = ?1 and scope = ?2 and seq > ?4
  union all select seq from job indexed by job_by_scope where kind = ?1 and scope between ?2 || '/' and ?2 || '/\u{10ffff}' and seq > ?4
  order by seq limit ?3`;

/** What a row says of a job that is shown. */
type ShownRow = Pick<JobRow, keyof typeof SHOWN>;

/** A record of a row. */
function recordOfRow<R extends ShownRow>({ resourceGroup, slots, heldBy, gate, indexInOperation, ...job }: R) {
  return {
    ...job,
    group: resourceGroup === "" ? undefined : { name: resourceGroup, slots },
    index: indexInOperation,
    gate: gate === 0 ? undefined : gate,
    isHeld: job.state === "queued" && heldBy === "jobs",
  };
}

/** How a job ended that others wait for. */
type JobEnd = Pick<JobRecord, "name" | "kind" | "state" | "error"> & { readonly seq: number };

/** The reason for which a job is given up after another one failed. */
function afterFailed(number: number, name: string, error: string): string {
  return `job ${number} (${name}), which it waited for, failed: ${error}`.slice(0, MAX_REASON);
}

/** The follower of a queue whose jobs are parts of no workflows. */
const NO_WORKFLOWS: WorkflowFollower = {
  begin: ({ id }) => NO_WORKFLOWS.joined(id),
  joined(id) {
    throw new Error(`this queue has no workflows, and so not ${id}`);
  },
  began: () => undefined,
  settled: () => undefined,
};

/** The queue of the SQLite backend, and how other writes of the same step put a job into it. */
export function jobQueries(
  db: Database,
  writer: Writer,
  now: () => number,
  follower: WorkflowFollower = NO_WORKFLOWS,
): { readonly jobs: JobStore; readonly insertJob: (job: NewJob) => JobRecord } {
  const recordOf = (row: object): JobRecord => {
    const { gatedBy: _, doom: __, ...job } = JOBS.record(row);
    return recordOfRow(job);
  };
  const entryOf = (row: Numbered): JobEntry => ({ ...recordOfRow(ENTRIES.record(row)), number: row.number });
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
  const settleWorkflows = (rows: readonly { readonly workflow_id: string }[]): void => {
    for (const id of new Set(rows.map(({ workflow_id }) => workflow_id))) if (id !== "") follower.settled(id);
  };
  /** Cancels what waits for a job, and what waits for that. */
  const cancelThoseAfter = (id: string): void => {
    const cancelled = db.query<{ workflow_id: string }, { id: string; now: number }>(CANCEL_THOSE_AFTER);
    settleWorkflows(cancelled.all({ id, now: now() }));
  };
  /** Lets those go on that waited for a job alone, when it has ended. */
  const settleThoseAfter = ({ id, name, kind }: JobRecord, state: JobState, error: string): void => {
    if (state === "cancelled") cancelThoseAfter(id);
    else if (state === "failed") db.query(DOOM_THOSE_AFTER).run({ id, doom: afterFailed(seqOf(id) ?? 0, name || kind, error), now: now() });
    else {
      db.query(FREE_THOSE_AFTER).run({ id, now: now() });
      db.query("delete from job_after where after_id = ?").run(id);
    }
  };
  /** Ends a job. */
  const end = (job: JobRecord, state: "succeeded" | "failed" | "cancelled", error = job.error): void => {
    update(job.id, { ...UNLEASED, state, error });
    settleThoseAfter(job, state, error);
    if (job.workflowId !== "") follower.settled(job.workflowId);
  };
  const takeBack = (job: JobRecord): void => {
    endAttempt(job, "lost", LOST);
    if (job.isCancelRequested) end(job, "cancelled");
    else update(job.id, { ...UNLEASED, ...DUE, state: "queued", error: LOST });
  };
  const exhaustionOf = (job: JobRecord, doom: string): string | undefined => {
    if (doom !== "") return doom;
    if (job.deadlineAt !== undefined && job.deadlineAt <= now()) return "its time was up before it was done";
    if (job.attempts < job.maxAttempts) return undefined;
    return `${job.attempts === 1 ? "its attempt" : `each of its ${job.attempts} attempts`} failed: ${job.error}`;
  };

  /** How many more jobs of a lane may run. */
  const capacity = () => {
    const counts = (sql: string) =>
      new Map(
        db
          .query<{ name: string; jobs: number }, []>(sql)
          .all()
          .map(({ name, jobs }) => [name, jobs]),
      );
    const groups = counts(RUNNING_BY_GROUP);
    const operations = counts(RUNNING_BY_OPERATION);
    return {
      free({ resource_group, slots, gated_by, gate }: Lane): number {
        const ofGroup = resource_group === "" ? Number.POSITIVE_INFINITY : slots - (groups.get(resource_group) ?? 0);
        const ofGate = gated_by === "" ? Number.POSITIVE_INFINITY : gate - (operations.get(gated_by) ?? 0);
        return Math.max(0, Math.min(ofGroup, ofGate));
      },
      take({ resource_group, gated_by }: Lane): void {
        groups.set(resource_group, (groups.get(resource_group) ?? 0) + 1);
        operations.set(gated_by, (operations.get(gated_by) ?? 0) + 1);
      },
    };
  };
  /** The first jobs of a kind's lanes that have due ones; a search of an index finds each. */
  function* lanes(kind: string): Generator<DueJob> {
    const next = db.query<DueJob, [string, string, number, string, number]>(NEXT_LANE);
    for (let first = next.get(kind, "", -1, "", -1); first; ) {
      yield first;
      first = next.get(kind, first.resource_group, first.slots, first.gated_by, first.gate);
    }
  }
  /** The next jobs to be claimed, in order. */
  const nextDue = (kinds: readonly string[], limit: number): number[] => {
    const { free, take } = capacity();
    const wake = db.query<unknown, [string, number, number]>(WAKE);
    const following = db.query<DueJob, [Readonly<Record<keyof DueJob, string | number>>]>(NEXT_OF_LANE);
    const byTurn = (a: DueJob, b: DueJob): number => b.priority - a.priority || a.seq - b.seq;
    const firsts = kinds
      .flatMap((kind) => {
        wake.run(kind, now(), WOKEN);
        return [...lanes(kind)];
      })
      .sort(byTurn);
    const due: number[] = [];
    for (let job = firsts.shift(); job && due.length < limit; job = firsts.shift()) {
      if (free(job) === 0) continue;
      take(job);
      due.push(job.seq);
      const next = following.get({ ...job });
      if (!next) continue;
      const at = firsts.findIndex((other) => byTurn(next, other) < 0);
      firsts.splice(at < 0 ? firsts.length : at, 0, next);
    }
    return due;
  };
  /** When the first of some kinds' queued jobs can be claimed. */
  const nextQueuedAt = (kinds: readonly string[]): number | undefined => {
    const { free } = capacity();
    const sleeping = db.query<{ at: number | null }, [string]>(NEXT_TO_WAKE);
    const times = kinds.flatMap((kind) => {
      for (const lane of lanes(kind)) if (free(lane) > 0) return [AT_ONCE];
      const at = sleeping.get(kind)?.at ?? undefined;
      return at === undefined ? [] : [at];
    });
    return times.length === 0 ? undefined : Math.min(...times);
  };

  /** How a job stands that is to begin after others, and which of those it waits for. */
  const standingAfter = (ids: readonly string[]): { readonly row: Partial<JobRow>; readonly awaited: readonly string[] } => {
    const awaited: string[] = [];
    const state = db.query<JobEnd, [string]>("select seq, name, kind, state, error from job where id = ?");
    for (const id of new Set(ids)) {
      const other = state.get(id);
      if (!other) throw new Error(`a job is to wait for job ${id}, which there is not`);
      if (other.state === "cancelled") return { row: { state: "cancelled" }, awaited: [id] };
      if (other.state === "failed")
        return { row: { heldBy: "", doom: afterFailed(other.seq, other.name || other.kind, other.error) }, awaited: [id] };
      if (other.state !== "succeeded") awaited.push(id);
    }
    return { row: awaited.length === 0 ? {} : { heldBy: "jobs" }, awaited };
  };

  /** Ids of the jobs that a job waited for and that have not succeeded. */
  const unsettled = (id: string): string[] =>
    db
      .query<{ after_id: string }, [string]>("select after_id from job_after where job_id = ?")
      .all(id)
      .map(({ after_id }) => after_id);

  const insertJob = (wanted: NewJob): JobRecord => {
    const same = db
      .query<object, [string, string | null]>("select * from job where kind = ? and idempotency_key = ?")
      .get(wanted.kind, wanted.idempotencyKey ?? null);
    if (same) return recordOf(same);
    const at = now();
    const deadlineAt = wanted.timeoutMs === undefined ? undefined : at + wanted.timeoutMs;
    const group: ResourceGroup = wanted.group ?? { name: "", slots: 0 };
    const runAt = wanted.delayMs === undefined ? AT_ONCE : Math.min(at + wanted.delayMs, deadlineAt ?? Number.POSITIVE_INFINITY);
    if (wanted.gate !== undefined && !wanted.operationId) throw new Error("a job that passes a gate belongs to no operation");
    const standing = standingAfter(wanted.after ?? []);
    if (wanted.begins) follower.begin(wanted.begins);
    else if (wanted.workflowId) follower.joined(wanted.workflowId);
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
      name: wanted.name ?? "",
      operationId: wanted.operationId ?? "",
      indexInOperation: wanted.index,
      workflowId: wanted.begins?.id ?? wanted.workflowId ?? "",
      gate: wanted.gate ?? 0,
      gatedBy: wanted.gate === undefined ? "" : (wanted.operationId ?? ""),
      heldBy: runAt > at ? "time" : "",
      doom: "",
      idempotencyKey: wanted.idempotencyKey,
      runAt,
      deadlineAt,
      maxAttempts: wanted.maxAttempts,
      attemptTimeoutMs: wanted.attemptTimeoutMs,
      attempts: 0,
      fence: 0,
      progress: "",
      error: "",
      createdAt: at,
      updatedAt: at,
      ...standing.row,
    };
    db.query(JOBS.insert).run(JOBS.parameters(row));
    for (const id of standing.awaited) db.query("insert into job_after (job_id, after_id) values (?, ?)").run(row.id, id);
    if (row.state === "cancelled" && row.workflowId !== "") follower.settled(row.workflowId);
    return find(wanted.id) as JobRecord;
  };

  const seqOf = (id: string): number | undefined => db.query<{ seq: number }, [string]>("select seq from job where id = ?").get(id)?.seq;
  const waitingAt = ({ kind, scope }: JobPlace): number =>
    db
      .query<{ jobs: number }, [string, string]>(
        "select count(*) as jobs from job where kind = ? and scope = ? and state in ('queued', 'running')",
      )
      .get(kind, scope)?.jobs ?? 0;

  const nextScope = (kind: string, scope: string): string | undefined =>
    db.query<Next, [string, string]>(NEXT_SCOPE).get(kind, scope)?.next ?? undefined;
  /** The places that have jobs, and those of no scope; a search of an index finds each. */
  function* places(isKind: (kind: string) => boolean): Generator<JobPlace> {
    const nextKind = db.query<Next, [string]>(NEXT_KIND);
    for (let kind = nextKind.get("")?.next; kind; kind = nextKind.get(kind)?.next) {
      if (!isKind(kind)) continue;
      yield { kind, scope: "" };
      for (let scope = nextScope(kind, ""); scope; scope = nextScope(kind, scope)) yield { kind, scope };
    }
  }
  /** A place, and those below it that have jobs. */
  function* placesBelow({ kind, scope: top }: JobPlace): Generator<JobPlace> {
    yield { kind, scope: top };
    for (let scope = nextScope(kind, `${top}/`); scope?.startsWith(`${top}/`); scope = nextScope(kind, scope)) yield { kind, scope };
  }
  /** The numbers of the newest jobs of some places, newest first. */
  const newestOf = (
    wanted: Iterable<JobPlace>,
    {
      states,
      queued,
      before,
      limit,
    }: Pick<JobSelection, "queued" | "limit"> & { readonly states: readonly JobState[]; readonly before: number },
  ): number[] => {
    const search = db.query<{ seq: number }, (string | number)[]>(NEWEST_OF_PLACE);
    const due = !queued ? "any" : queued.areDue ? "due" : "later";
    let newest: number[] = [];
    for (const { kind, scope } of wanted)
      for (const state of states) {
        const above = newest.length < limit ? 0 : (newest.at(-1) ?? 0);
        const found = search.all(kind, scope, state, before, above, state === "queued" ? due : "any", queued?.at ?? 0, limit);
        if (found.length > 0) newest = [...newest, ...found.map(({ seq }) => seq)].sort((a, b) => b - a).slice(0, limit);
      }
    return newest;
  };

  const jobs: JobStore = {
    enqueue: (job) => writer.write(() => insertJob(job)),

    enqueueAll: (wanted) => writer.write(() => wanted.map(insertJob)),

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
        for (const seq of nextDue(kinds, limit)) {
          const row = db.query<{ doom: string }, [number]>("select * from job where seq = ?").get(seq) as { doom: string };
          const waiting = recordOf(row);
          const exhausted = exhaustionOf(waiting, row.doom);
          const fence = waiting.fence + 1;
          const attempts = waiting.attempts + (exhausted === undefined ? 1 : 0);
          update(waiting.id, { state: "running", node, fence, attempts, leaseUntil: now() + leaseMs });
          if (waiting.workflowId !== "") follower.began(waiting.workflowId);
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
        end(job, "succeeded", "");
      }),

    fail: (lease, error, retryMs) =>
      settle(lease, (job) => {
        endAttempt(job, "failed", error);
        const isOver = retryMs === undefined || job.attempts >= job.maxAttempts;
        if (job.isCancelRequested || isOver) {
          end(job, job.isCancelRequested ? "cancelled" : "failed", error);
          return;
        }
        const runAt = Math.min(now() + retryMs, job.deadlineAt ?? Number.POSITIVE_INFINITY);
        update(job.id, { ...UNLEASED, state: "queued", heldBy: "time", error, runAt });
      }),

    release: (lease) =>
      settle(lease, (job) => {
        const { changes } = db
          .query("delete from job_attempt where job_id = ? and number = ? and ended_at is null")
          .run(job.id, job.attempts);
        update(job.id, { ...UNLEASED, ...DUE, state: "queued", attempts: job.attempts - changes });
      }),

    confirmCancel: (lease) =>
      settle(lease, (job) => {
        endAttempt(job, "cancelled");
        end(job, "cancelled");
      }),

    abandon: (node) =>
      writer.write(() => {
        db.query<object, [string]>("select * from job where state = 'running' and node = ?").all(node).map(recordOf).forEach(takeBack);
      }),

    cancel: (id) =>
      writer.write(() => {
        const job = find(id);
        if (job?.state === "queued") end(job, "cancelled");
        if (job?.state === "running") update(id, { isCancelRequested: true });
        return find(id);
      }),

    setPriority: (id, priority) =>
      writer.write(() => {
        if (find(id)?.state === "queued") update(id, { priority });
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
      const wanted = places((kind) => kinds?.includes(kind) !== false).filter(
        ({ scope }) => environments?.has(environmentOf(scope)) !== false,
      );
      const newest = newestOf(wanted, { states, ...(queued && { queued }), before, limit: offset + limit });
      return db
        .query<Numbered, [string]>(`select ${ENTRY} from job where seq in (select value from json_each(?)) order by seq desc`)
        .all(JSON.stringify(newest.slice(offset)))
        .map(entryOf);
    },

    async waiting(most) {
      const nextKind = db.query<Next, [string]>(NEXT_KIND);
      const count = db.query<{ scope: string; jobs: number }, [string, number]>(WAITING);
      const sums = new Map<string, { kind: string; environmentId: string; jobs: number }>();
      for (let kind = nextKind.get("")?.next; kind; kind = nextKind.get(kind)?.next)
        for (const { scope, jobs } of count.all(kind, most)) {
          const environmentId = environmentOf(scope);
          const before = sums.get(`${kind} ${environmentId}`)?.jobs ?? 0;
          sums.set(`${kind} ${environmentId}`, { kind, environmentId, jobs: before + jobs });
        }
      return [...sums.values()];
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

    async runningOf(operationId, limit) {
      return db
        .query<QueuePosition, [string, number]>(
          "select seq as number, scope from job where state = 'running' and operation_id <> '' and operation_id = ? order by seq limit ?",
        )
        .all(operationId, limit);
    },

    async awaited(id, limit) {
      return db.query<QueuePosition, [string, number]>(AWAITED).all(id, limit);
    },

    async list({ kind, scope, states = STATES, before, limit }) {
      const beforeSeq = before === undefined ? Number.MAX_SAFE_INTEGER : (seqOf(before) ?? 0);
      const newest = newestOf(placesBelow({ kind, scope }), { states, before: beforeSeq, limit });
      return db
        .query<object, [string]>("select * from job where seq in (select value from json_each(?)) order by seq desc")
        .all(JSON.stringify(newest))
        .map(recordOf);
    },

    retry: (id, moreAttempts, limit) =>
      writer.write(() => {
        const job = find(id);
        if (!job || !ENDED.includes(job.state)) return undefined;
        if (waitingAt(job) >= limit) return "full";
        update(id, {
          ...UNLEASED,
          ...DUE,
          state: "queued",
          doom: "",
          deadlineAt: undefined,
          maxAttempts: job.attempts + moreAttempts,
          ...standingAfter(unsettled(id)).row,
        });
        if (job.workflowId !== "") follower.joined(job.workflowId);
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
      const due = [lease?.at ?? undefined, nextQueuedAt(kinds)].filter((at) => at !== undefined);
      return due.length === 0 ? undefined : Math.max(0, Math.min(...due) - now());
    },

    amend: ({ kind, scope }, { after, limit }, change) =>
      writer.write(() => {
        const place = [kind, scope, limit, after] as const;
        const jobs = db
          .query<{ seq: number; payload: string }, [string, string, number, number]>(
            `select seq, payload from job where seq in (${IN_SCOPE_AFTER}) order by seq`,
          )
          .all(...place);
        for (const { seq, payload } of jobs) {
          const changed = change(JSON.parse(payload));
          if (changed !== undefined) db.query("update job set payload = ? where seq = ?").run(JSON.stringify(changed), seq);
        }
        return jobs.at(-1)?.seq;
      }),

    purge: (olderThanMs, limit) =>
      writer.write(() => db.query(`delete from job where seq in (${LONG_ENDED})`).run(now() - olderThanMs, limit).changes),

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
      writer.write(() => {
        const gone = db
          .query<{ id: string; workflow_id: string }, [string, string, number]>(
            `delete from job where seq in (${IN_SCOPE}) returning id, workflow_id`,
          )
          .all(kind, scope, limit);
        for (const { id } of gone) cancelThoseAfter(id);
        settleWorkflows(gone);
        return gone.length;
      }),
  };
  return { jobs, insertJob };
}
