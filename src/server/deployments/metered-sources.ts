/** SQL sources whose statements are counted. */

import type { MetricRecorder } from "../metrics/recorder.ts";
import type { SqlSource, SqlSources } from "../sql/source.ts";

/** The sources of an environment, whose statements are counted and timed. */
export function meteredSources(sources: SqlSources, environmentId: string, metrics: MetricRecorder): SqlSources {
  const known = new WeakMap<SqlSource, SqlSource>();
  return {
    get(name) {
      const source = sources.get(name);
      const metered = known.get(source) ?? meteredSource(source, environmentId, metrics);
      known.set(source, metered);
      return metered;
    },
    list: () => sources.list(),
    close: () => sources.close(),
  };
}

function meteredSource(source: SqlSource, environmentId: string, metrics: MetricRecorder): SqlSource {
  const labels = { source: source.name };
  const count = metrics.counter("source.count", environmentId, labels);
  const errors = metrics.counter("source.errors", environmentId, labels);
  const latency = metrics.histogram("source.latency", environmentId, labels);
  return {
    name: source.name,
    kind: source.kind,
    quote: (identifier) => source.quote(identifier),
    placeholder: (position, type) => source.placeholder(position, type),
    describe: (statement) => source.describe(statement),
    columnTypes: (statement) => source.columnTypes(statement),
    test: () => source.test(),
    close: () => source.close(),
    async query(statement, parameters, signal, traceparent) {
      const began = performance.now();
      count.add();
      try {
        return await source.query(statement, parameters, signal, traceparent);
      } catch (error) {
        errors.add();
        throw error;
      } finally {
        latency.observe((performance.now() - began) / 1000);
      }
    },
  };
}
