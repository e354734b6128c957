/** Counters as text: OpenMetrics 1.0, which Prometheus reads too. */

/** A value of a family. */
export interface MetricSample {
  /** What comes behind the family's name, such as `_total`. */
  readonly suffix: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The values of one name. */
export interface MetricFamily {
  readonly name: string;
  /** `counter`, `gauge` or `histogram`. */
  readonly type: string;
  readonly help: string;
  readonly samples: readonly MetricSample[];
}

/** The text of families. */
export function openMetricsText(families: readonly MetricFamily[]): string {
  const lines = families.flatMap(({ name, type, help, samples }) => [
    `# TYPE ${name} ${type}`,
    `# HELP ${name} ${escaped(help)}`,
    ...samples.map(({ suffix, labels, value }) => `${name}${suffix}${labelsText(labels)} ${metricNumber(value)}`),
  ]);
  return [...lines, "# EOF"].join("\n");
}

/** A number as OpenMetrics writes it. */
export function metricNumber(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  return String(value);
}

/** The upper bound of a bucket as its label `le`: always with a fraction. */
export function bucketBound(bound: number): string {
  return Number.isInteger(bound) ? `${bound}.0` : metricNumber(bound);
}

function labelsText(labels: Readonly<Record<string, string>>): string {
  const texts = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return texts.length === 0 ? "" : `{${texts.join(",")}}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
