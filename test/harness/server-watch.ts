/** Measurements of a server under some work: its memory, and its response time for others. */

/** The measurements, with the work's result. */
export interface Watched<T> {
  readonly result: T;
  /** Highest resident memory, in MiB. */
  readonly peakMiB: number;
  /** Longest time that `GET /health` took, in milliseconds, and the number of its responses. */
  readonly slowestMs: number;
  readonly answers: number;
}

/** Resident memory of a process in MiB, as Linux reports it. */
export async function residentMiB(pid: number): Promise<number> {
  const status = await Bun.file(`/proc/${pid}/status`).text();
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024;
}

/** Measures while `work` runs, and once after it. Throws when the server does not answer. */
export async function watching<T>(url: string, pid: number, work: () => Promise<T>): Promise<Watched<T>> {
  const seen = { peakMiB: 0, slowestMs: 0, answers: 0 };
  const probe = async (): Promise<void> => {
    const began = performance.now();
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(180_000) });
    if (!response.ok) throw new Error(`/health answers ${response.status}`);
    await response.text();
    seen.slowestMs = Math.max(seen.slowestMs, performance.now() - began);
    seen.answers++;
  };
  let isOver = false;
  const sample = async (): Promise<void> => {
    while (!isOver) {
      seen.peakMiB = Math.max(seen.peakMiB, await residentMiB(pid));
      await Bun.sleep(10);
    }
  };
  const ask = async (): Promise<void> => {
    while (!isOver) {
      await probe();
      await Bun.sleep(20);
    }
  };
  const watch = Promise.all([sample(), ask()]);
  const result = await work().finally(() => {
    isOver = true;
  });
  await watch;
  await probe();
  return { result, ...seen };
}
