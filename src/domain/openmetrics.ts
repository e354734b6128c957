/** Counters as text: OpenMetrics 1.0, which Prometheus reads too, and Prometheus' own format. */

/** A traced value, of which its sample counted one. */
export interface SampleExemplar {
  readonly traceId: string;
  readonly value: number;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** A value of a family. */
export interface MetricSample {
  /** What comes behind the family's name, such as `_total`. */
  readonly suffix: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Of buckets, in OpenMetrics alone. */
  readonly exemplar?: SampleExemplar | undefined;
}

/** The values of one name. */
export interface MetricFamily {
  readonly name: string;
  /** `counter`, `gauge` or `histogram`. */
  readonly type: string;
  readonly help: string;
  readonly samples: readonly MetricSample[];
}

/** A text format of families. */
export interface ExpositionFormat {
  readonly contentType: string;
  /** The text of a family, with its last line end. */
  family(family: MetricFamily): string;
  /** What ends the text. */
  readonly end: string;
}

/** OpenMetrics 1.0. */
export const OPEN_METRICS: ExpositionFormat = {
  contentType: "application/openmetrics-text; version=1.0.0; charset=utf-8",
  family: ({ name, type, help, samples }) =>
    familyText(
      [`# TYPE ${name} ${type}`, `# HELP ${name} ${escaped(help)}`],
      samples.map((sample) => sampleText(name, sample) + exemplarText(sample.exemplar)),
    ),
  end: "# EOF",
};

/** The format of Prometheus before OpenMetrics, in which a counter's name has its suffix. */
export const PROMETHEUS_TEXT: ExpositionFormat = {
  contentType: "text/plain; version=0.0.4; charset=utf-8",
  family({ name, type, help, samples }) {
    const full = type === "counter" ? `${name}_total` : name;
    return familyText(
      [`# HELP ${full} ${helpText(help)}`, `# TYPE ${full} ${type}`],
      samples.map((sample) => sampleText(name, sample)),
    );
  },
  end: "",
};

/** The text of families in OpenMetrics. */
export function openMetricsText(families: readonly MetricFamily[]): string {
  return families.map(OPEN_METRICS.family).join("") + OPEN_METRICS.end;
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

function familyText(head: readonly string[], samples: readonly string[]): string {
  return [...head, ...samples, ""].join("\n");
}

function sampleText(name: string, { suffix, labels, value }: MetricSample): string {
  return `${name}${suffix}${labelsText(labels)} ${metricNumber(value)}`;
}

function exemplarText(exemplar: SampleExemplar | undefined): string {
  if (!exemplar) return "";
  return ` # {trace_id="${escaped(exemplar.traceId)}"} ${metricNumber(exemplar.value)} ${exemplar.at / 1000}`;
}

function labelsText(labels: Readonly<Record<string, string>>): string {
  const texts = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return texts.length === 0 ? "" : `{${texts.join(",")}}`;
}

function escaped(text: string): string {
  return helpText(text).replaceAll('"', '\\"');
}

function helpText(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
