/**
 * The growth of the cost of work with its size, in CPU time of this process: the ratio holds on
 * fast and slow machines, and beside other programs.
 */

const TIMES = 4;
/** Between `TIMES`, which is linear, and its square. */
const MOST_GROWTH = 10;
/** Costs below this many microseconds are noise, and count as this. */
const FLOOR_US = 5_000;
const TRIES = 4;

/**
 * Whether work of `size` costs no more than about four times as much as work of a quarter of it. A
 * garbage collection or a compilation can fall into one of the two, so a growth that is too large
 * is measured again: quadratic work never passes, and linear work passes in one of the
 * measurements.
 */
export function isNearLinear(size: number, work: (size: number) => void): boolean {
  return Array.from({ length: TRIES }, (_, index) => index).some(() => {
    const small = costOf(() => work(Math.floor(size / TIMES)));
    return costOf(() => work(size)) <= MOST_GROWTH * small;
  });
}

/** CPU time of some work, in microseconds. */
function costOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return Math.max(user + system, FLOOR_US);
}
