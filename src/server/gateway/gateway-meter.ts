/**
 * What is seen of requests that the gateway answered: a record in the log of requests, and metrics
 * of their route. Never what they carried, nor their credentials.
 */

import type { Clock } from "../../context/clock.ts";
import { parseTraceparent } from "../../domain/traceparent.ts";
import { type HeadField, valuesOf } from "../http1/head.ts";
import type { LogRecorder } from "../logs/recorder.ts";
import type { Counter, Histogram, MetricRecorder } from "../metrics/recorder.ts";
import type { Route } from "./route.ts";

/** A request as far as it is known, which whoever answers it fills in. */
export interface SeenRequest {
  /** Milliseconds of a clock that nobody sets. */
  readonly began: number;
  readonly method: string;
  /** Path as it came, without the query string. */
  readonly path: string;
  readonly trace: string | undefined;
  /** What it went to; undefined = it was refused before that was known. */
  route?: Route;
  /** Name of the container that answered. */
  replica?: string;
  /** Who sent it, where the route wants a token. */
  clientId?: string;
  /** Of the answer; 0 = the client left before there was one. */
  status: number;
  /** Of a call of gRPC. */
  grpcStatus?: string;
  /** Whether the gateway of another node has it, and counts it there. */
  isCountedThere?: boolean;
  /** Bytes of the answer's body that were passed on. */
  bytes: number;
}

/** Takes what was seen. */
export interface GatewayMeter {
  answered(seen: SeenRequest): void;
}

/** Series of a route. */
interface RouteSeries {
  readonly latency: Histogram;
  readonly counts: Map<string, Counter>;
}

/** The status of requests whose clients left. */
const CLIENT_LEFT = 499;
const SWITCHED = 101;
/** The status of gRPC for what is none of the others. */
const UNKNOWN = "2";

/** A request that has just come. */
export function seenRequest(method: string, target: string, fields: readonly HeadField[]): SeenRequest {
  const query = target.search(/[?#]/);
  return {
    ...{ began: performance.now(), method, path: query < 0 ? target : target.slice(0, query) },
    ...{ trace: valuesOf(fields, "traceparent")[0], status: 0, bytes: 0 },
  };
}

/** Makes the meter. */
export function createGatewayMeter(parts: {
  readonly metrics: MetricRecorder;
  readonly logRecorder: LogRecorder;
  readonly clock: Clock;
}): GatewayMeter {
  const { clock, logRecorder, metrics } = parts;
  const routes = new WeakMap<Route, RouteSeries>();

  const count = (route: Route, status: string, seconds: number | undefined): void => {
    const { environmentId, kind, name } = route;
    let series = routes.get(route);
    if (!series) {
      series = { latency: metrics.histogram("gateway.latency", environmentId, { kind, name }), counts: new Map() };
      routes.set(route, series);
    }
    let counter = series.counts.get(status);
    if (!counter) {
      counter = metrics.counter("gateway.count", environmentId, { kind, name, status });
      series.counts.set(status, counter);
    }
    counter.add();
    if (seconds !== undefined) series.latency.observe(seconds);
  };

  return {
    answered(seen) {
      if (!metrics.isOn || seen.isCountedThere) return;
      const { bytes, clientId, method, path, replica, route, trace } = seen;
      const grpcStatus = knownStatus(seen.grpcStatus);
      const ms = performance.now() - seen.began;
      const status = seen.status || CLIENT_LEFT;
      const isFailed = status >= 500 || grpcStatus !== "0";
      // How long a WebSocket stays open is no latency.
      if (route) count(route, grpcStatus === "0" ? String(status) : `grpc ${grpcStatus}`, status === SWITCHED ? undefined : ms / 1_000);
      logRecorder.record({
        at: (clock.now() - ms) * 1_000,
        level: isFailed ? "error" : status >= 400 ? "warning" : "info",
        component: "gateway",
        message: !route || path === `/${route.label}` || path.startsWith(`/${route.label}/`) ? path : `/${route.label}${path}`,
        traceId: trace === undefined ? "" : (parseTraceparent(trace)?.traceId ?? ""),
        attributes: {
          ...{ method, response_code: status, duration_ms: Math.round(ms * 1_000) / 1_000, bytes },
          ...(clientId !== undefined && { client_id: clientId }),
          ...(route && { route: route.label }),
          ...(replica !== undefined && { replica }),
          ...(grpcStatus !== "0" && { grpc_status: grpcStatus }),
        },
      });
    },
  };
}

/** A status of gRPC, of which there are 17: what a replica says besides is one of no meaning. */
function knownStatus(given: string | undefined): string {
  if (given === undefined || given === "") return "0";
  return /^(?:\d|1[0-6])$/.test(given) ? given : UNKNOWN;
}
