/**
 * The time of a log line in the reader's own zone, `05-01 14:00:00.123`, without the year. It is
 * made by hand: the formatter of other times takes longer than all else of a line, and lines come
 * by the thousand.
 */
export function lineTime(ms: number): string {
  const at = new Date(ms);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}
